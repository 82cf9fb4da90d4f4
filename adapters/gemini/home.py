"""The lines that came from Gemini CLI, out of what a session kept of them, as they were.

1. A message's own record, laid together again, or a native record, is a line; its number says where it stood.
2. One record per number is taken, the newest; that of a message before one that is none. But messages of other ids were written on
   another host; then all stay, in the order they were recorded.
3. A message whose record is not whole, or whose line is not there, is foreign: it is written from what it says.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.conversion import Json
from adapters.gemini.log import Place
from adapters.gemini.reader import read
from adapters.gemini.records import AGENT, items_of
from adapters.gemini.records_out import line_of
from adapters.home import (
    BROKEN,
    OUTDATED,
    UNUSABLE,
    account_message,
    account_others,
    account_unreadable,
    changed_in,
    decoded,
)
from adapters.json_lines import parse_line
from adapters.report import Report
from adapters.said import lay
from adapters.session import Session, is_message, metadata_of, native_of, place_of
from adapters.values import int_of
from eventstore.wire.codec import Number

_METADATA = frozenset("agent_source native_id parent_id reply_id origin model usage status is_error compaction subagent".split())


@dataclass(slots=True)
class HomeLine:
    """A line to write: its object, or its text where it is none or is kept as text. `is_message`: a message carried it."""

    number: int
    order: int
    record: Json | None
    raw: bytes = b""
    is_message: bool = False

    def to_bytes(self) -> bytes:
        return self.raw if self.record is None else line_of(self.record)

    def value(self) -> Json:
        """Its object, an empty one for none."""
        told = parse_line(self.raw).value if self.record is None else self.record
        return told if isinstance(told, dict) else {}

    def message_at(self, item: int) -> Json:
        """The message record that it is, or that stands in the list that it sets; an empty one for none."""
        if item < 0:
            return self.value()
        items = items_of(self.value())
        found = items[item] if item < len(items) else None
        return found if isinstance(found, dict) else {}


@dataclass(slots=True)
class Home:
    """Lines in the order of the file; by index of a message, where its record stands; the messages to be written anew."""

    lines: list[HomeLine] = field(default_factory=list)
    of_message: dict[int, Place] = field(default_factory=dict)
    foreign: list[int] = field(default_factory=list)
    by_number: dict[int, list[HomeLine]] = field(default_factory=lambda: defaultdict(list))

    def record_of(self, index: int, message: Json) -> Json:
        """The record of a message that is at home."""
        place, native_id = self.of_message[index], metadata_of(message).get("native_id")
        found = (line.message_at(place.item) for line in self.by_number[place.line])
        return next(record for record in found if record.get("id") == native_id)


@dataclass(slots=True)
class _Carried:
    """A record that messages carry: what is kept of it, how many they are, and what each of them says of it."""

    parts: int
    order: int
    record: Any
    said: list[tuple[Json, Any]] = field(default_factory=list)


def gather(session: Session, report: Report) -> Home:
    """Return the lines of a session that came from Gemini CLI, and count them."""
    home = Home()
    carried: dict[tuple[int, str], _Carried] = {}
    places: dict[int, Place] = {}
    index = -1
    for order, entry in enumerate(session.entries):
        if is_message(entry):
            index += 1
            if (place := _place(entry)) is not None:
                places[index] = place
                _carry(carried, entry, order, place)
        elif entry.get("agent") == AGENT:
            for record in entry["records"]:
                _add_native(home, record, order, report)
        else:
            account_others(report, "lines", entry, order)
    for (number, _), one in carried.items():
        if (record := _laid(one)) is not None:
            home.lines.append(HomeLine(number, one.order, record, b"", True))
    home.lines = _newest(home.lines, report)
    _settle(home, places, session.messages, report)
    _account(home, session.messages, report)
    return home


def _place(message: Json) -> Place | None:
    native = native_of(message, AGENT)
    line = int_of((native or {}).get("line"))
    item = int_of((native or {}).get("item", Number("-1")))
    return Place(line, item) if line is not None and line > 0 and item is not None else None


def _carry(carried: dict[tuple[int, str], _Carried], message: Json, order: int, place: Place) -> None:
    """Note the record that a message carries, and what it says of one."""
    native, key = message["native"], (place.line, str(metadata_of(message).get("native_id")))
    if place.item >= 0:
        return
    if isinstance(native.get("record"), dict):
        carried.setdefault(key, _Carried(int_of(native.get("parts")) or 1, order, native["record"]))
    if key in carried:
        carried[key].said.append((message, native.get("said", ())))


def _laid(one: _Carried) -> Json | None:
    record = one.record
    if len(one.said) < one.parts:
        return None
    try:
        for message, said in one.said:
            record = lay(record, message, said)
    except BROKEN:
        return None
    return record if isinstance(record, dict) else None


def _add_native(home: Home, record: Any, order: int, report: Report) -> None:
    number = int_of(record.get("line")) if isinstance(record, dict) else None
    match record:
        case {"record": value} if number:
            is_object = isinstance(value, dict)
            home.lines.append(HomeLine(number, order, value if is_object else None, b"" if is_object else line_of(value)))
        case {"raw": str(text)} if number:
            raw = text.encode("utf-8", "surrogatepass")
            home.lines.append(HomeLine(number, order, None, raw))
        case {"base64": str(text)} if number and (found := decoded(text)) is not None:
            home.lines.append(HomeLine(number, order, None, found))
        case _:
            account_unreadable(report, "lines", order)


def _newest(lines: Sequence[HomeLine], report: Report) -> list[HomeLine]:
    """The lines to write, in the order of the file (law 2)."""
    by_number: dict[int, dict[bytes, HomeLine]] = defaultdict(dict)
    for line in sorted(lines, key=lambda line: line.order):
        same = by_number[line.number].pop(text := line.to_bytes(), None)
        line.is_message |= same is not None and same.is_message
        by_number[line.number][text] = line
    report.found("lines", len(lines))
    report.converted("lines", len(lines))
    chosen: list[HomeLine] = []
    for number in sorted(by_number):
        found = list(by_number[number].values())
        taken = [line for line in found if line.is_message] or found[-1:]
        chosen += taken
        if len(found) > len(taken):
            report.converted("lines", len(taken) - len(found))
            report.note("dropped", "lines/outdated", OUTDATED, f"line {number}", len(found) - len(taken))
    return chosen


def _settle(home: Home, places: dict[int, Place], messages: Sequence[Json], report: Report) -> None:
    """Tell which messages are at home, and which are not (law 3)."""
    ids: dict[Place, set[Any]] = defaultdict(set)
    wanted = set(places.values())
    for line in home.lines:
        home.by_number[line.number].append(line)
    for place in wanted:
        ids[place] = {line.message_at(place.item).get("id") for line in home.by_number[place.line]}
    for index, message in enumerate(messages):
        named = places.get(index)
        if named is not None and metadata_of(message).get("native_id") in ids[named] - {None}:
            home.of_message[index] = named
            continue
        if native_of(message, AGENT) is not None:
            report.warn("entries/" + message["role"], UNUSABLE, place_of(message, index))
        home.foreign.append(index)


def _account(home: Home, messages: Sequence[Json], report: Report) -> None:
    """Count every leaf of the messages that go home: what the records say is converted."""
    again = read([line.to_bytes() + b"\n" for line in home.lines]) if home.of_message else None
    by_place = {_key(message.body): message.body for message in again.messages} if again else {}
    for index in home.of_message:
        message = messages[index]
        said = by_place.get(_key(message), {})
        account_message(report, message, index, changed_in(message, said) if said else (), _METADATA)


def _key(message: Json) -> tuple[str, int]:
    """What names a message within a file: its record's id, and its place among those of the record."""
    return str(metadata_of(message).get("native_id")), int_of(message["native"].get("part")) or 0
