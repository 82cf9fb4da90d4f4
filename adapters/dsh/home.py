"""The way home: the log's lines out of what a session kept of them, as they were.

1. A message's own record, or a native record, is a line; its number says where it stood. Of two of one number the newest counts:
   a block that grew was sent again.
2. A log goes home as it was only when it is whole, from its header on: the agent refuses one with a hole in it. Of another one
   (a fork in the hub holds no native records after its point) the messages alone are written, anew.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from adapters.conversion import Json
from adapters.dsh.messages import Around, convert
from adapters.dsh.records import AGENT, ROLES, is_header
from adapters.home import BROKEN, OUTDATED, account_message, account_others, account_unreadable, changed_in, decoded
from adapters.json_lines import Parsed, parse_line
from adapters.report import Report
from adapters.said import lay
from adapters.session import Session, is_message, native_of
from adapters.values import int_of, text_of
from eventstore.wire import codec

REWRITTEN = "the log is written anew, of its messages alone"

_METADATA = frozenset("agent_source native_id parent_id origin status is_error compaction model usage".split())


@dataclass(slots=True)
class Home:
    """What a session kept of a log: lines by their number; by index of a message, its line's number; the messages of others."""

    lines: dict[int, Parsed] = field(default_factory=dict)
    of_message: dict[int, int] = field(default_factory=dict)
    foreign: list[int] = field(default_factory=list)
    spoken: set[int] = field(default_factory=set)  # the numbers of the lines that are messages
    records: int = 0  # native records of this agent, those that a newer one replaces among them
    clashes: bool = False  # two messages claim one line: they are of two logs

    @property
    def header(self) -> Json:
        first = self.lines.get(1)
        return first.value if first and not first.problem and is_header(first.value) else {}

    @property
    def is_whole(self) -> bool:
        """Are all lines there, from the header to the last, and those of one log?"""
        return bool(self.header) and len(self.lines) == max(self.lines) and not self.clashes


def gather(session: Session, report: Report) -> Home:
    """Return what of a session is a log's own. Nothing of it is counted yet, but what is no line of it."""
    home = Home()
    index = -1
    for at, entry in enumerate(session.entries):
        if is_message(entry):
            index += 1
            _add_message(home, entry, index)
        elif entry.get("agent") == AGENT:
            _add_natives(home, entry, at, report)
        else:
            account_others(report, "lines", entry, at)
    return home


def record_of(message: Json) -> Json | None:
    """The event that a message came from, as far as it is whole."""
    native = native_of(message, AGENT)
    parsed = _laid(native, message) if native else None
    return parsed.value if parsed and not parsed.problem else None


def account_home(home: Home, messages: list[Json], report: Report) -> None:
    """Count the lines that go home, and every leaf of the messages that they are: what the line says is converted."""
    report.found("lines", home.records + len(home.of_message))
    report.converted("lines", len(home.lines))
    repeated = home.records + len(home.of_message) - len(home.lines)
    if repeated:
        report.note("dropped", "lines/outdated", OUTDATED, "session", repeated)
    for index, number in home.of_message.items():
        message = messages[index]
        done = convert(home.lines[number], Around(text_of(message.get("metadata"), "native_id"), number, "", None))
        said = done.message.body if done else {}
        account_message(report, message, index, changed_in(message, said), _METADATA)


def account_rewritten(home: Home, report: Report) -> None:
    """Count the lines that do not go home."""
    count = home.records + len(home.of_message)
    report.found("lines", count)
    if home.records:
        report.note("dropped", "lines/no message", REWRITTEN, "session", home.records)
    if home.of_message:
        report.note("degraded", "lines/message", REWRITTEN, "session", len(home.of_message))


def _add_message(home: Home, message: Json, index: int) -> None:
    native = native_of(message, AGENT)
    number = int_of((native or {}).get("line")) or 0
    parsed = _laid(native, message) if native and number > 0 else None
    if parsed is None:
        home.foreign.append(index)
        return
    home.clashes = home.clashes or number in home.spoken
    home.spoken.add(number)
    home.lines[number] = parsed
    home.of_message[index] = number


def _laid(native: Json, message: Json) -> Parsed | None:
    """The line of a message, or None when its record is not whole."""
    try:
        raw = native.get("raw")
        if isinstance(raw, str):
            parsed = parse_line(raw.encode("utf-8", "surrogatepass"))
        else:
            parsed = Parsed(None, lay(native["record"], message, native.get("said", ())), "", True)
        is_event = not parsed.problem and isinstance(parsed.value, dict) and text_of(parsed.value, "type") in ROLES
    except BROKEN:
        return None
    return parsed if is_event else None


def _add_natives(home: Home, entry: Json, at: int, report: Report) -> None:
    for number, parsed in _native_lines(entry):
        if number == 0 or parsed is None:
            account_unreadable(report, "lines", at)
            continue
        home.records += 1
        if number not in home.spoken:
            home.lines[number] = parsed


def _native_lines(entry: Json) -> Iterator[tuple[int, Parsed | None]]:
    for record in entry["records"]:
        number = max(0, int_of(record.get("line")) or 0) if isinstance(record, dict) else 0
        match record:
            case {"record": value}:
                yield number, Parsed(None, value, "" if isinstance(value, dict) else "no object", True)
            case {"raw": str(text)}:
                yield number, parse_line(text.encode("utf-8", "surrogatepass"))._replace(text=text)
            case {"base64": str(text)}:
                raw = decoded(text)
                yield number, None if raw is None else Parsed(raw.decode("latin-1"), None, "not UTF-8", False)
            case _:
                yield 0, None


def to_bytes(parsed: Parsed) -> bytes:
    """The line, without its end."""
    if parsed.text is None:
        return codec.dump(parsed.value).encode("utf-8", "surrogatepass")
    return parsed.text.encode("latin-1" if parsed.problem == "not UTF-8" else "utf-8", "surrogatepass")
