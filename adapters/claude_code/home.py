"""The lines that came from Claude Code, out of what a session kept of them, as they were.

1. A message's own record, or a native record, is a line; its number says where it stood.
2. One record per number is taken, the newest: that replaces what was once a torn last line, or a block sent again. But a
   line with another uuid was written on another host; then both stay, in the order they were recorded.
3. A message whose record cannot be laid together again is foreign: it is converted from what it says.
"""

from array import array
from collections.abc import Sequence
from itertools import groupby

from adapters.claude_code.home_lines import HomeLine, HomeLines, OfMessage
from adapters.claude_code.messages import Around, convert, digest_of
from adapters.claude_code.packed import NONE
from adapters.claude_code.picked import Picked
from adapters.claude_code.records import AGENT
from adapters.claude_code.side_files import File, files_of, is_file
from adapters.conversion import Json
from adapters.home import (
    OUTDATED,
    UNUSABLE,
    Held,
    account_message,
    account_others,
    account_unreadable,
    changed_in,
    kept,
    laid,
    parsed,
)
from adapters.report import Report
from adapters.session import Session, is_message, native_of, place_of
from adapters.values import int_of

_METADATA = frozenset("agent_source native_id parent_id subagent origin model reply_id usage status is_error compaction".split())


class Home:
    """Lines in the order of the file; by index of a message, the line it came from; the messages to be converted."""

    def __init__(self, entries: Sequence[Json]) -> None:
        self.held = HomeLines(entries)
        self.lines: Picked[HomeLine] = Picked(self.held, ())
        self.of_message = OfMessage(self.held)
        self.foreign: list[int] = []
        self.file_records: list[Json] = []  # of files that stand beside the transcript
        self.files: list[File] = []
        self._places = array("i")  # of each message among the entries

    @property
    def messages(self) -> Sequence[Json]:
        return Picked(self.held.entries, self._places)

    def add_message(self, order: int) -> int:
        """Return the index of the message that stands at `order` among the entries."""
        self._places.append(order)
        return len(self._places) - 1


def gather(session: Session, report: Report) -> Home:
    """Return the lines of a session that came from Claude Code, and count them."""
    home = Home(session.entries)
    parts: list[tuple[int, int]] = []
    for order, entry in enumerate(session.entries):
        if is_message(entry):
            _add_message(home, entry, home.add_message(order), order, parts, report)
        elif entry.get("agent") == AGENT:
            _add_natives(home, entry, order, report)
        else:
            account_others(report, "lines", entry, order)
    _add_parts(home, parts, report)
    home.files = files_of(home.file_records, report)
    home.lines = Picked(home.held, _newest(home, report))
    _account(home, report)
    return home


def _add_message(home: Home, message: Json, index: int, order: int, parts: list[tuple[int, int]], report: Report) -> None:
    native = native_of(message, AGENT)
    if native is None:
        home.foreign.append(index)
        return
    number, part = int_of(native.get("line")) or 0, int_of(native.get("part")) or 0
    if part:
        parts.append((index, number))
        return
    held = laid(native, message) if number else None
    if held is None or parsed(held).problem:
        _is_foreign(home, message, index, report)
    else:
        home.of_message.set(index, home.held.add(held, number, order, message=index))


def _add_parts(home: Home, parts: Sequence[tuple[int, int]], report: Report) -> None:
    """Add the messages that only point to the record of the message before them: the newest line of their number."""
    spoken: dict[int, list[int]] = {number: [] for _, number in parts}
    for index in range(len(home.held)) if parts else ():
        if home.held.message[index] != NONE and home.held.facts.number(index) in spoken:
            spoken[home.held.facts.number(index)].append(index)
    for message, number in parts:
        line = next((index for index in reversed(spoken[number]) if home.held.message[index] < message), None)
        if line is None:
            _is_foreign(home, home.messages[message], message, report)
        else:
            home.of_message.set(message, line)
    home.foreign.sort()


def _is_foreign(home: Home, message: Json, index: int, report: Report) -> None:
    report.warn("entries/" + message["role"], UNUSABLE, place_of(message, index))
    home.foreign.append(index)


def _add_natives(home: Home, entry: Json, order: int, report: Report) -> None:
    for part, record in enumerate(entry["records"]):
        if is_file(record):
            home.file_records.append(record)
            continue
        number = (int_of(record.get("line")) or 0) if isinstance(record, dict) else 0
        held = kept(record) if number else None
        if held is None:
            account_unreadable(report, "lines", order)
        else:
            home.held.add(held, number, order, part)


def _newest(home: Home, report: Report) -> "array[int]":
    """The indexes of the lines to write, in the order of the file (law 2)."""
    report.found("lines", len(home.held))
    chosen = array("i")
    number = home.held.facts.number
    for _, group in groupby(sorted(range(len(home.held)), key=number), key=number):
        indexes = list(group)
        if len(indexes) == 1:
            taken = indexes
        else:
            lines = [home.held[index] for index in indexes]
            of_one = _of_one_number(lines)
            taken = [line.index for line in of_one]
            for line in lines if len(lines) > len(taken) else ():
                _account_repeat(home, line, of_one, report)
        chosen.extend(taken)
        report.converted("lines", len(taken))
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
    if line in taken:
        return
    same = next((other for other in taken if other.line.uuid == line.line.uuid), taken[-1])
    home.of_message.replace(line.index, same.index)
    if b"".join(line.pieces()) == b"".join(same.pieces()):
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
        part = int_of(message["native"].get("part")) or 0
        if line != before:
            own = laid(message["native"], message) if line.message == index else None
            before, bodies = line, _said(line, own or line.held, message)
        changed = changed_in(message, bodies[part] if part < len(bodies) else {})
        account_message(report, message, index, changed, _METADATA)


def _said(line: HomeLine, held: Held, message: Json) -> list[Json]:
    """What a line says as messages, read again."""
    digest = str(message.get("append_id", "")).rpartition(":")[2] or digest_of(held[1])
    return [made.body for made in convert(line.line, parsed(held), Around(None, None, False), digest).messages]
