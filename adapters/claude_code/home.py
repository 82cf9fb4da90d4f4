"""The lines that came from Claude Code, out of what a session kept of them, as they were.

1. A message's own record, or a native record, is a line; its number says where it stood.
2. One record per number is taken, the newest: that replaces what was once a torn last line, or a block sent again. But a
   line with another uuid was written on another host; then both stay, in the order they were recorded.
3. A message whose record cannot be laid together again is foreign: it is converted from what it says.
"""

from array import array
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, overload

from adapters.claude_code.messages import Around, convert
from adapters.claude_code.records import AGENT, Line, facts
from adapters.conversion import Json
from adapters.fates_out import EDITED, HUBS_OWN, NO_PLACE, is_hubs
from adapters.json_lines import Parsed, parse_line
from adapters.leaves import CONVERTED, Fate, Path, account
from adapters.pieces import encoded
from adapters.report import Report
from adapters.said import lay
from adapters.session import Session, is_message, native_of, place_of
from eventstore.errors import InvalidJson
from eventstore.wire import codec

OUTDATED = "a newer record of this line counts"
UNUSABLE = "its record is not whole; written from what the message says"

RECENT_MAX = 4096  # names that are kept as one string while lines come that mention them
Held = tuple[Json | None, bytes]  # a line's value, or None and its text

_COMPARED = ("role", "content", "tool_calls", "tool_call_id", "thinking")
_READERS = frozenset({*_COMPARED, "created_at", "metadata"})
_READERS_METADATA = frozenset(
    (name,) for name in "agent_source native_id parent_id subagent origin model reply_id usage status is_error compaction".split()
) | {()}


@dataclass(slots=True)
class HomeLine:
    """A line to write: where the session holds it, and what of it is written otherwise. `message`: the index of its message."""

    number: int
    order: int  # of its entry in the session
    part: int  # of its record among the entry's; -1 where the entry is a message
    line: Line
    is_value: bool  # a value, which may be rewritten; else a text
    message: int | None = None
    changes: Json = field(default_factory=dict)


class Home:
    """Lines in the order of the file; by index of a message, the line it came from; the messages to be converted.

    Of what the lines hold, no more is kept than the branch rule needs: it is looked up in the session, whenever it is asked for.
    """

    def __init__(self, entries: Sequence[Json]) -> None:
        self._entries = entries
        self._places: array[int] = array("q")  # of each message among the entries
        self.lines: list[HomeLine] = []
        self.of_message: dict[int, HomeLine] = {}
        self.foreign: list[int] = []
        self.spoken: dict[int, HomeLine] = {}  # by number: the newest line that is a message
        self._recent: dict[str, str] = {}

    @property
    def messages(self) -> Sequence[Json]:
        return _Messages(self._entries, self._places)

    def add_message(self, order: int) -> int:
        """Return the index of the message that stands at `order` among the entries."""
        self._places.append(order)
        return len(self._places) - 1

    def held(self, line: HomeLine) -> Held:
        """Return what a line holds, as it came."""
        entry = self._entries[line.order]
        held = _laid(entry["native"], entry) if line.part < 0 else _kept(entry["records"][line.part])
        assert held is not None
        return held

    def pieces(self, line: HomeLine) -> Iterator[bytes]:
        """Yield the line as it is written, without its end."""
        record, raw = self.held(line)
        return iter((raw,)) if record is None else encoded(record | line.changes)

    def once(self, text: str) -> str:
        """The same string for equal ones that stand near to each other."""
        if len(self._recent) >= RECENT_MAX:
            self._recent.clear()
        return self._recent.setdefault(text, text)


class _Messages(Sequence[Json]):
    """The messages among a session's entries."""

    def __init__(self, entries: Sequence[Json], places: Sequence[int]) -> None:
        self._entries, self._places = entries, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Json: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Json]: ...
    def __getitem__(self, index: int | slice) -> Json | Sequence[Json]:
        if isinstance(index, slice):
            return _Messages(self._entries, self._places[index])
        return self._entries[self._places[index]]


def gather(session: Session, report: Report) -> Home:
    """Return the lines of a session that came from Claude Code, and count them."""
    home = Home(session.entries)
    for order, entry in enumerate(session.entries):
        if is_message(entry):
            _add_message(home, entry, home.add_message(order), order, report)
        elif entry.get("agent") == AGENT:
            _add_natives(home, entry, order, report)
        else:
            count = max(1, len(entry["records"]))
            report.found("lines", count)
            report.note("kept_native", "lines/other agent", "records of another agent", f"entry {order + 1}", count)
    home.lines = _newest(home, report)
    _account(home, report)
    return home


def _add_message(home: Home, message: Json, index: int, order: int, report: Report) -> None:
    native = native_of(message, AGENT)
    if native is None:
        home.foreign.append(index)
        return
    number, part = _number(native.get("line")), _number(native.get("part", 0))
    if part and number in home.spoken:
        home.of_message[index] = home.spoken[number]
        return
    held = _laid(native, message) if number and not part else None
    if held is None:
        report.warn("entries/" + message["role"], UNUSABLE, place_of(message, index))
        home.foreign.append(index)
        return
    line = _home_line(home, held, number, order, -1)
    line.message = index
    home.lines.append(line)
    home.of_message[index] = home.spoken[number] = line


def _laid(native: Json, message: Json) -> Held | None:
    """The line of a message, or None when its record is not whole."""
    raw, record = native.get("raw"), native.get("record")
    if isinstance(raw, str):
        return None, raw.encode("utf-8", "surrogatepass")
    if not isinstance(record, dict):
        return None
    try:
        return _value(lay(record, message, native.get("said", ())))
    except (KeyError, IndexError, TypeError, ValueError, InvalidJson):
        return None


def _kept(record: Any) -> Held | None:
    """The line that a native record holds, or None where it is none that the reader made."""
    match record:
        case {"record": value}:
            return _value(value)
        case {"raw": str(text)}:
            return None, text.encode("utf-8", "surrogatepass")
        case {"base64": str(text)} if (raw := _decoded(text)) is not None:
            return None, raw
    return None


def _value(value: Any) -> Held:
    return (value, b"") if isinstance(value, dict) else (None, codec.dump(value).encode())


def _add_natives(home: Home, entry: Json, order: int, report: Report) -> None:
    for part, record in enumerate(entry["records"]):
        number = _number(record.get("line")) if isinstance(record, dict) else 0
        held = _kept(record) if number else None
        if held is None:
            report.found("lines")
            report.note("dropped", "lines/unreadable", "a native record that names no line", f"entry {order + 1}")
        else:
            home.lines.append(_home_line(home, held, number, order, part))


def _home_line(home: Home, held: Held, number: int, order: int, part: int) -> HomeLine:
    return HomeLine(number, order, part, facts(number, _parsed(held), home.once), held[0] is not None)


def _parsed(held: Held) -> Parsed:
    record, raw = held
    return parse_line(raw) if record is None else Parsed(None, record, "", True)


def _newest(home: Home, report: Report) -> list[HomeLine]:
    """The lines to write, in the order of the file (law 2)."""
    report.found("lines", len(home.lines))
    chosen: list[HomeLine] = []
    for _, group in groupby(sorted(home.lines, key=_place), key=_place):
        lines = list(group)
        taken = lines if len(lines) == 1 else _of_one_number(lines)
        chosen += taken
        report.converted("lines", len(taken))
        for line in lines if len(lines) > len(taken) else ():
            _account_repeat(home, line, taken, report)
    return chosen


def _place(line: HomeLine) -> int:
    return line.number


def _of_one_number(lines: Sequence[HomeLine]) -> list[HomeLine]:
    by_uuid: dict[str, HomeLine] = {}
    for line in lines:
        before = by_uuid.get(line.line.uuid)
        if before is None or before.message is None:
            by_uuid[line.line.uuid] = line
    named = [line for uuid, line in by_uuid.items() if uuid]
    return sorted(named or by_uuid.values(), key=lambda line: line.order)


def _account_repeat(home: Home, line: HomeLine, taken: Sequence[HomeLine], report: Report) -> None:
    """Count a line that another one of its number stands for: as converted, when they are equal."""
    if any(line is other for other in taken):
        return
    same = next((other for other in taken if other.line.uuid == line.line.uuid), taken[-1])
    home.of_message |= {index: same for index, of in home.of_message.items() if of is line}
    if b"".join(home.pieces(line)) == b"".join(home.pieces(same)):
        report.converted("lines")
    else:
        report.note("dropped", "lines/outdated", OUTDATED, f"line {line.number}")


def _account(home: Home, report: Report) -> None:
    """Count every leaf of the messages that go home: what the record says is converted."""
    messages = home.messages
    before: HomeLine | None = None
    bodies: list[Json] = []
    for index, line in home.of_message.items():
        message = messages[index]
        part = _number((message["native"]).get("part", 0))
        if line is not before:
            before, bodies = line, _said(home, line, message)
        changed = _changed(message, bodies[part] if part < len(bodies) else {})
        report.found("entries")
        report.converted("entries")
        report.message(message["role"])
        shown = {key: value for key, value in message.items() if key != "native"}
        account(report, shown, partial(_fate, changed), place_of(message, index))


def _fate(changed: frozenset[str], path: Path, value: Any) -> Fate:
    if path[0] in changed:
        return EDITED
    if is_hubs(path):
        return HUBS_OWN
    return CONVERTED if path[0] in _READERS and (path[0] != "metadata" or path[1:2] in _READERS_METADATA) else NO_PLACE


def _said(home: Home, line: HomeLine, message: Json) -> list[Json]:
    """What a line says as messages, read again."""
    held = home.held(line)
    digest = str(message.get("append_id", "")).rpartition(":")[2]
    return [made.body for made in convert(line.line, held[1], _parsed(held), Around(None, None, False), digest).messages]


def _changed(message: Json, said: Json) -> frozenset[str]:
    """The fields that say something else than the record."""
    return frozenset(key for key in _COMPARED if message.get(key) != said.get(key))


def _number(value: Any) -> int:
    """A number as it comes from a file, from the hub or straight from a reader; 0 for none."""
    if isinstance(value, codec.Number):
        return value.as_int() or 0
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _decoded(text: str) -> bytes | None:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return None
