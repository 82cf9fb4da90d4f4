"""The lines that came from Claude Code, out of what a session kept of them, as they were.

1. A message's own record, or a native record, is a line; its number says where it stood.
2. One record per number is taken, the newest: that replaces what was once a torn last line, or a block sent again. But a
   line with another uuid was written on another host; then both stay, in the order they were recorded.
3. A message whose record cannot be laid together again is foreign: it is converted from what it says.
"""

from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from adapters.claude_code.messages import Around, convert
from adapters.claude_code.records import AGENT, Line, facts
from adapters.conversion import Json
from adapters.fates_out import EDITED, HUBS_OWN, NO_PLACE, is_hubs
from adapters.json_lines import Parsed, parse_line
from adapters.leaves import CONVERTED, Fate, Path, account
from adapters.report import Report
from adapters.said import lay
from adapters.session import Session, is_message, native_of, place_of
from eventstore.errors import InvalidJson
from eventstore.wire import codec

OUTDATED = "a newer record of this line counts"
UNUSABLE = "its record is not whole; written from what the message says"

_COMPARED = ("role", "content", "tool_calls", "tool_call_id", "thinking")
_READERS = frozenset({*_COMPARED, "created_at", "metadata"})
_READERS_METADATA = frozenset(
    (name,) for name in "agent_source native_id parent_id subagent origin model reply_id usage status is_error compaction".split()
) | {()}


@dataclass(slots=True)
class HomeLine:
    """A line to write. `record` is its value where it may be rewritten, else `raw` is its text. `message`: its message."""

    number: int
    order: int
    line: Line
    record: Json | None
    raw: bytes
    message: int | None = None

    def to_bytes(self) -> bytes:
        return self.raw if self.record is None else codec.dump(self.record).encode()


@dataclass(slots=True)
class Home:
    """Lines in the order of the file; by index of a message, the line it came from; the messages to be converted."""

    lines: list[HomeLine] = field(default_factory=list)
    of_message: dict[int, HomeLine] = field(default_factory=dict)
    foreign: list[int] = field(default_factory=list)
    spoken: dict[int, HomeLine] = field(default_factory=dict)  # by number: the newest line that is a message


def gather(session: Session, report: Report) -> Home:
    """Return the lines of a session that came from Claude Code, and count them."""
    home = Home()
    index = -1
    for order, entry in enumerate(session.entries):
        if is_message(entry):
            index += 1
            _add_message(home, entry, index, order, report)
        elif entry.get("agent") == AGENT:
            home.lines += _native_lines(entry, order, report)
        else:
            count = max(1, len(entry["records"]))
            report.found("lines", count)
            report.note("kept_native", "lines/other agent", "records of another agent", f"entry {order + 1}", count)
    home.lines = _newest(home, report)
    _account(home, session.messages, report)
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
    line = _laid(native, message, number, order) if number and not part else None
    if line is None:
        report.warn("entries/" + message["role"], UNUSABLE, place_of(message, index))
        home.foreign.append(index)
        return
    line.message = index
    home.lines.append(line)
    home.of_message[index] = home.spoken[number] = line


def _laid(native: Json, message: Json, number: int, order: int) -> HomeLine | None:
    """The line of a message, or None when its record is not whole."""
    raw, record = native.get("raw"), native.get("record")
    if isinstance(raw, str):
        return _text_line(raw, number, order)
    if not isinstance(record, dict):
        return None
    try:
        value = lay(record, message, native.get("said", ()))
    except (KeyError, IndexError, TypeError, ValueError, InvalidJson):
        return None
    return _line(value, number, order)


def _native_lines(entry: Json, order: int, report: Report) -> Iterator[HomeLine]:
    for record in entry["records"]:
        match record:
            case {"line": number, "record": value} if at := _number(number):
                yield _line(value, at, order)
            case {"line": number, "raw": str(text)} if at := _number(number):
                yield _text_line(text, at, order)
            case {"line": number, "base64": str(text)} if (at := _number(number)) and (raw := _decoded(text)) is not None:
                yield HomeLine(at, order, Line(at, "not UTF-8"), None, raw)
            case _:
                report.found("lines")
                report.note("dropped", "lines/unreadable", "a native record that names no line", f"entry {order + 1}")


def _line(value: Any, number: int, order: int) -> HomeLine:
    if isinstance(value, dict):
        return HomeLine(number, order, facts(number, Parsed(None, value, "", True)), value, b"")
    return HomeLine(number, order, Line(number, "JSON, but no object"), None, codec.dump(value).encode())


def _text_line(text: str, number: int, order: int) -> HomeLine:
    raw = text.encode("utf-8", "surrogatepass")
    return HomeLine(number, order, facts(number, parse_line(raw)), None, raw)


def _newest(home: Home, report: Report) -> list[HomeLine]:
    """The lines to write, in the order of the file (law 2)."""
    by_number: dict[int, list[HomeLine]] = defaultdict(list)
    for line in home.lines:
        by_number[line.number].append(line)
    report.found("lines", len(home.lines))
    chosen: list[HomeLine] = []
    for number in sorted(by_number):
        lines = by_number[number]
        taken = lines if len(lines) == 1 else _of_one_number(lines)
        chosen += taken
        report.converted("lines", len(taken))
        for line in lines if len(lines) > len(taken) else ():
            _account_repeat(home, line, taken, report)
    return chosen


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
    if line.to_bytes() == same.to_bytes():
        report.converted("lines")
    else:
        report.note("dropped", "lines/outdated", OUTDATED, f"line {line.number}")


def _account(home: Home, messages: Sequence[Json], report: Report) -> None:
    """Count every leaf of the messages that go home: what the record says is converted."""
    said: dict[int, list[Json]] = {}
    for index, line in home.of_message.items():
        message = messages[index]
        part = _number((message["native"]).get("part", 0))
        if id(line) not in said:
            said[id(line)] = _said(line, message)
        bodies = said[id(line)]
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


def _said(line: HomeLine, message: Json) -> list[Json]:
    """What a line says as messages, read again."""
    parsed = Parsed(None, line.record, "", True)
    if line.record is None:
        parsed = parse_line(line.raw)
    digest = str(message.get("append_id", "")).rpartition(":")[2]
    return [made.body for made in convert(line.line, line.raw, parsed, Around(None, None, False), digest).messages]


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
