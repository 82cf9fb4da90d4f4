"""The lines that came from Codex, out of what a session kept of them, as they were.

1. A message's own record, or a native record, is a line; its number says where it stood.
2. Of what no message holds, one record per number is taken, the newest: that replaces what was once a torn last line, or a block
   that was sent again. Lines of messages stay, all of them: where two of one number differ, two hosts wrote on, and both said it.
3. A message whose record cannot be laid together again is foreign: it is converted from what it says.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from adapters.codex.live import Around, Unit
from adapters.codex.messages import convert
from adapters.codex.records import AGENT, Line, line_of, replaced_by, says
from adapters.conversion import Json
from adapters.home import OUTDATED, UNUSABLE, account_message, account_others, account_unreadable, changed_in, kept, laid, parsed
from adapters.report import Report
from adapters.session import Session, is_message, native_of, place_of
from adapters.values import int_of
from eventstore.wire import codec

_METADATA = frozenset("agent_source native_id origin model reply_id status is_error compaction".split())


@dataclass(slots=True)
class HomeLine:
    """A line to write: its value, or its text where it is none. `message`: the index of the first message that it is."""

    number: int
    order: int  # of its entry in the session
    value: Json | None
    raw: bytes
    message: int | None = None

    def encoded(self) -> bytes:
        """The line as it is written, with its end."""
        return (self.raw if self.value is None else codec.dump(self.value).encode()) + b"\n"

    def line(self) -> Line:
        """The line as it is read."""
        raw = self.raw if self.value is None else b""
        return line_of(self.number, memoryview(raw), parsed((self.value, raw)), Counter())


@dataclass(slots=True)
class Home:
    """Lines in the order of the file; by index of a message, the line it came from; the messages to be converted."""

    lines: list[HomeLine] = field(default_factory=list)
    of_message: dict[int, HomeLine] = field(default_factory=dict)
    foreign: list[int] = field(default_factory=list)


def gather(session: Session, report: Report) -> Home:
    """Return the lines of a session that came from Codex, and count them."""
    home, spoken = Home(), dict[int, HomeLine]()
    messages = session.messages
    index = -1
    for order, entry in enumerate(session.entries):
        if is_message(entry):
            index += 1
            _add_message(home, spoken, entry, index, order, report)
        elif entry.get("agent") == AGENT:
            home.lines += _native_lines(entry, order, report)
        else:
            account_others(report, "lines", entry, order)
    home.lines = _newest(home, report)
    for index in home.of_message:
        _account(home, messages[index], index, report)
    return home


def _add_message(home: Home, spoken: dict[int, HomeLine], message: Json, index: int, order: int, report: Report) -> None:
    native = native_of(message, AGENT)
    if native is None:
        home.foreign.append(index)
        return
    number = int_of(native.get("line")) or 0
    held = laid(native, message) if number else None
    if held is not None and not parsed(held).problem:
        line = HomeLine(number, order, *held, index)
        home.lines.append(line)
        home.of_message[index] = spoken[number] = line
    elif number and native.get("part") is not None and number in spoken:
        home.of_message[index] = spoken[number]
    else:
        report.warn("entries/" + message["role"], UNUSABLE, place_of(message, index))
        home.foreign.append(index)


def _native_lines(entry: Json, order: int, report: Report) -> Iterator[HomeLine]:
    for record in entry["records"]:
        number = (int_of(record.get("line")) or 0) if isinstance(record, dict) else 0
        held = kept(record) if number else None
        if held is None:
            account_unreadable(report, "lines", order)
        else:
            yield HomeLine(number, order, *held)


def _newest(home: Home, report: Report) -> list[HomeLine]:
    """The lines to write, in the order of the file (law 2)."""
    report.found("lines", len(home.lines))
    chosen: dict[int, list[HomeLine]] = {}
    for line in sorted(home.lines, key=lambda line: (line.number, line.message is None, line.order)):
        before = chosen.setdefault(line.number, [])
        same = next((other for other in before if other.encoded() == line.encoded()), None)
        if same is not None:
            home.of_message |= {index: same for index, of in home.of_message.items() if of is line}
            report.converted("lines")
        elif line.message is not None or not before:
            before.append(line)
            report.converted("lines")
        else:
            report.note("dropped", "lines/outdated", OUTDATED, f"line {line.number}")
            if before[-1].message is None:
                before[-1] = line
    return [line for number in sorted(chosen) for line in chosen[number]]


def _account(home: Home, message: Json, index: int, report: Report) -> None:
    """Count every leaf of a message that goes home: what the line says is converted."""
    said = _said(home.of_message[index].line(), int_of(message["native"].get("part")) or 0)
    changed = changed_in(_bare(message), _bare(said))
    account_message(report, message, index, changed, _METADATA)


def _said(line: Line, part: int) -> Json:
    """What an item of a line says as a message, read again."""
    if line.type == "compacted" and line.payload is not None:
        units = [Unit(line, item, (*line.at, *at), part, Around()) for item, at in replaced_by(line.payload) if says(item)]
    else:
        units = [Unit(line, line.payload, line.at, part, Around())] if line.payload is not None and says(line.payload) else []
    if line.type != "compacted":
        part = 0
    return convert(units[part], holds_line=False).message.body if part < len(units) else {}


def _bare(message: Json) -> Json:
    """A message without what only the lines before tell: whose thinking it is."""
    thinking = message.get("thinking")
    if not isinstance(thinking, dict) or not isinstance(thinking.get("items"), list):
        return message
    bare = [
        {name: inner for name, inner in item.items() if name not in ("provider", "model")} if isinstance(item, dict) else item
        for item in thinking["items"]
    ]
    return message | {"thinking": thinking | {"items": bare}}
