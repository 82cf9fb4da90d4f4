"""The way home: the export that a session's native records and messages make together, as Hermes had it.

1. Of what is kept of a row, the newest counts; it is the same anyway, but for redactions.
2. The newest `{session, columns, order}` tells of the session, which rows it had, in which order, and what may change of them; rows
   that came later follow.
3. A row that was there before and is not in that order was taken out by Hermes itself (a retry writes its turn again).
4. A message whose row cannot be laid together again is foreign: it is written from what it says.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.accounts import leave_out
from adapters.conversion import Json
from adapters.hermes.messages import Around, convert
from adapters.hermes.natives import with_place
from adapters.hermes.records import AGENT, ROW_COLUMNS, from_kept, why_dead
from adapters.home import BROKEN, account_message, account_others, changed_in
from adapters.report import Report
from adapters.said import lay
from adapters.session import Session, is_message, native_of, place_of
from adapters.values import text_of

REMOVED = "Hermes itself took this row out later"
UNUSABLE = "its row is not whole; written from what the message says"

_METADATA = frozenset("agent_source native_id origin status is_error compaction".split())


@dataclass(slots=True)
class Home:
    """What goes home. Indexes are those of the session's messages."""

    columns: Json = field(default_factory=dict)  # all but the rows
    keys: list[str] = field(default_factory=list)  # of the rows, in order
    rows: dict[str, Any] = field(default_factory=dict)
    of_message: dict[int, str] = field(default_factory=dict)
    foreign: list[int] = field(default_factory=list)
    has_messages: bool = True


@dataclass(slots=True)
class _Told:
    """The newest session record, and the entry that it is in."""

    at: int = -1
    columns: list[str] = field(default_factory=lambda: list(ROW_COLUMNS))
    order: list[Json] | None = None


def go_home(session: Session, report: Report) -> Home:
    """Return what of a session is Hermes's own, and count it."""
    home, told, arrived = Home(), _Told(), dict[str, int]()
    index = -1
    for at, entry in enumerate(session.entries):
        if is_message(entry):
            index += 1
            _add_message(home, entry, index, report)
            if index in home.of_message:
                arrived.setdefault(home.of_message[index], at)
        elif entry.get("agent") == AGENT:
            for record in entry["records"]:
                _add_record(home, told, arrived, record, at, report)
        else:
            account_others(report, "rows", entry, at)
    _put_in_order(home, told, arrived)
    _account(home, session.messages, report)
    return home


def _add_message(home: Home, message: Json, index: int, report: Report) -> None:
    native = native_of(message, AGENT)
    if native is None:
        home.foreign.append(index)
        return
    try:
        key = str(native["key"])
        row: Any = lay(from_kept(native), message, native.get("said", ()))
        if why_dead(row):
            raise KeyError("no row of a message")
    except BROKEN:
        report.warn("entries/" + message["role"], UNUSABLE, place_of(message, index))
        home.foreign.append(index)
        return
    home.rows[key] = row
    home.of_message[index] = key


def _add_record(home: Home, told: _Told, arrived: dict[str, int], record: Any, at: int, report: Report) -> None:
    report.found("rows")
    try:
        match record:
            case {"session": dict(kept), "columns": list(columns), "order": list(order)}:
                home.columns, home.has_messages = from_kept(kept), not record.get("no_messages")
                told.at, told.columns, told.order = at, [str(name) for name in columns], [dict(place) for place in order]
            case {"key": str(key)}:
                home.rows[key] = from_kept(record)
                arrived.setdefault(key, at)
            case _:
                raise KeyError("an unknown record")
    except BROKEN:
        report.note("dropped", "rows/unreadable", "a native record that names no row", f"entry {at + 1}")
    else:
        report.converted("rows")


def _put_in_order(home: Home, told: _Told, arrived: dict[str, int]) -> None:
    places = {str(place.get("key")): place for place in told.order or ()}
    listed = [key for key in places if key in home.rows]
    rest = sorted((key for key in home.rows if key not in places), key=arrived.__getitem__)
    home.keys = listed + [key for key in rest if told.order is None or arrived[key] > told.at]
    kept = set(home.keys)
    session_id = home.columns.get("id")
    home.rows = {
        key: with_place(row, places.get(key, {}), told.columns, session_id) for key, row in home.rows.items() if key in kept
    }


def _account(home: Home, messages: Sequence[Json], report: Report) -> None:
    """Count every leaf of the messages that go home: what the row says is converted."""
    for index, key in home.of_message.items():
        message = messages[index]
        if key not in home.rows:
            leave_out(report, {name: value for name, value in message.items() if name != "native"}, index, REMOVED)
            continue
        changed = changed_in(message, convert(home.rows[key], Around(key, 1, "", None, {})).message.body)
        if message["role"] == "tool" and text_of(home.rows[key], "tool_call_id"):
            changed -= {"tool_call_id"}  # said by another name of the call
        account_message(report, message, index, changed, _METADATA)
