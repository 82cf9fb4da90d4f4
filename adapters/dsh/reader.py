"""DeepSeek Harness to standard messages: the lines of a session's log in, what the hub shall append out.

**What is a message.** Every event that the surface holds (`surface`), in the order that the model is shown them: prompts, replies,
results, the system prompt, and what the harness puts in (`metadata.origin` tells). What a checkpoint or a cut stands for, and every
other event, is a native record, by line number.

**When the log grows.** Lines never change, so neither do messages: ids are those of the messages, parents those before them in the
file. `off_branch` names what is shadowed, all of it `compacted`; a log has no rewinds (a fork is a session of its own).

**The way home** (`home`) gives the log back, line by line.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from adapters.conversion import Conversion, Json, Message, NativeRecords
from adapters.dsh.fields import account_event, account_header
from adapters.dsh.messages import Around, convert
from adapters.dsh.records import AGENT, IMPORT, ROLES, VERSIONS, is_header, is_known, spot_of, version_of
from adapters.dsh.surface import Surface, fold
from adapters.json_lines import TORN, Parsed, bare_size, parse_line
from adapters.line_blocks import batches, blocks
from adapters.report import Report
from adapters.values import object_of, text_of

COMPACTED = "compacted: a later line stands for it on the surface"
UNKNOWN = "unknown event type"
NO_MESSAGE = "no message"
NO_DATA = "an event of the surface without a message in it"


def read(lines: Iterable[bytes], *, is_final: bool = True) -> Conversion:
    """Convert a log, given as its lines (with or without line ends), uncompressed. Never raises for what they hold.

    `is_final=False` is for a session that runs: the native records of the block at the end, and a torn last line, wait.
    """
    log = _parsed(lines)
    report = Report(AGENT, log.version, "to_standard")
    messages = tuple(_messages(log, report))
    cuts = blocks([len(raw) for raw in log.raws])
    held = set(cuts.pop()) if not is_final and cuts else set()
    live = {message.line for message in messages}
    waiting = {index + 1 for index in held if index + 1 not in live}
    numbered = ((number, memoryview(raw)) for number, raw in enumerate(log.raws, 1))
    natives: tuple[NativeRecords, ...] = tuple(
        batches(AGENT, numbered, cuts, lambda number: number not in live, [log.version] * len(log.raws))
    )
    _account(log, live, waiting, report)
    return Conversion(
        agent=AGENT,
        version=log.version,
        meta=_meta(log),
        entries=(*messages, *natives),
        report=report.to_dict(),
        off_branch={log.keys[number]: "compacted" for number in log.surface.shadowed},
        held_records=len(waiting),
    )


@dataclass(slots=True)
class _Log:
    raws: list[bytes]
    lines: list[Parsed]
    header: Json
    surface: Surface
    keys: dict[int, str]  # by line: the key of each event of the surface
    parents: dict[int, str | None] = field(default_factory=dict)
    oddities: list[str] = field(default_factory=list)

    @property
    def version(self) -> str:
        return version_of(self.header)

    @property
    def is_subagent(self) -> bool:
        return self.header.get("origin") == "subagent"


def _parsed(lines: Iterable[bytes]) -> _Log:
    given = list(lines)
    oddities = []
    if given and given[0].startswith(b"\xef\xbb\xbf"):
        given[0] = given[0][3:]
        oddities.append("the byte order mark at its start is not kept")
    if any(line.endswith(b"\r\n") for line in given):
        oddities.append("that lines end in CR LF is not kept")
    raws = [raw[: bare_size(raw)] if raw.endswith((b"\n", b"\r")) else raw for raw in given]
    parsed = [parse_line(raw) for raw in raws]
    if given and not given[-1].endswith(b"\n") and parsed[-1].problem:
        parsed[-1] = parsed[-1]._replace(problem=TORN)
    header = parsed[0].value if parsed and not parsed[0].problem and is_header(parsed[0].value) else {}
    events = [(number, line.value) for number, line in enumerate(parsed, 1) if not line.problem]
    log = _Log(raws, parsed, header, fold(events), {}, oddities=oddities)
    _name(log, events)
    return log


def _name(log: _Log, events: Iterable[tuple[int, Json]]) -> None:
    """Give each event of the surface its key, the message's id, and the key of the one before it in the file."""
    seen: Counter[str] = Counter()
    before: str | None = None
    for number, record in events:
        spot = spot_of(record) if text_of(record, "type") in ROLES else None
        if spot is None:
            continue
        name = text_of(spot.message, "id") or f"line-{number}"
        seen[name] += 1
        log.keys[number] = name if seen[name] == 1 else f"{name}.{seen[name]}"
        log.parents[number] = None if number in log.surface.replacing else before
        before = log.keys[number]


def _messages(log: _Log, report: Report) -> Iterator[Message]:
    unanswered: dict[str, str] = {}
    for number in log.surface.nodes:
        where = f"line {number}"
        around = Around(log.keys[number], number, log.version, log.parents[number], log.is_subagent)
        done = convert(log.lines[number - 1], around)
        assert done is not None, "the surface holds messages alone"
        record, body = log.lines[number - 1].value, done.message.body
        account_event(report, record, where, done.unsaid)
        report.message(body["role"])
        for path in done.made_up:
            report.note("synthesised", f"fields/{path}", "the line has none that is usable; made from its place", where)
        if done.is_reordered:
            report.warn(f"fields/{record['type']}", "the order of blocks of different kinds is only in the native record", where)
        unanswered |= {call["id"]: where for call in body.get("tool_calls", ())}
        unanswered.pop(body.get("tool_call_id", ""), None)
        yield done.message
    for where in unanswered.values():
        report.warn("lines/assistant/message", "a call has no result on the surface", where)


def _account(log: _Log, live: set[int], held: set[int], report: Report) -> None:
    for number, line in enumerate(log.lines, 1):
        if number in held:
            continue
        report.found("lines")
        if number in live:
            report.converted("lines")
        else:
            kind = "unreadable" if line.problem else text_of(line.value, "type")[:60] or "untyped"
            report.note("kept_native", f"lines/{kind}", _reason(log, number, line), f"line {number}")
        if line.problem:
            report.warn("lines/unreadable", line.problem, f"line {number}")
    account_header(report, log.header) if log.header else report.warn("session", "the log has no header", "line 1")
    if log.header and log.version not in VERSIONS:
        report.warn("session/version", "written in a format this reader was not made for", log.version[:40])
    for number in sorted(log.surface.lost):
        report.warn("lines/surface", "it stands for lines that the surface does not hold: put at its end", f"line {number}")
    for oddity in log.oddities:
        report.warn("file", oddity, "line 1")


def _reason(log: _Log, number: int, line: Parsed) -> str:
    if line.problem:
        return line.problem
    if number in log.surface.shadowed:
        return COMPACTED
    kind = text_of(line.value, "type")
    if kind in ROLES:
        return NO_DATA
    if kind == "session" and number == 1:
        return "the header of the log"
    return NO_MESSAGE if is_known(kind) or line.value.get("ignorable") is True else UNKNOWN


def _meta(log: _Log) -> Json:
    """What the log says of its session. What is not known is not in it."""
    header = log.header
    known: Json = {
        "title": "",
        "agent_source": AGENT,
        "native_session_id": text_of(header, "id"),
        "cwd": text_of(header, "cwd"),
        "model": "",
    }
    for line in log.lines:
        if line.problem:
            continue
        kind, data = line.value.get("type"), object_of(line.value, "data")
        if kind == "session/title":
            known["title"] = text_of(data, "title") or known["title"]
        elif kind == "request/context":
            known["model"] = text_of(data, "model") or known["model"]
        elif kind == IMPORT:
            known["git_branch"] = text_of(data, "gitBranch")
    parent = text_of(header, "parentSession")
    if log.is_subagent:
        link = {"agent_id": text_of(header, "id"), "parent_session_id": parent}
        known["subagent"] = {name: value for name, value in link.items() if value}
    elif parent:
        known["forked_from"] = {"session_id": parent}
    return {name: value for name, value in known.items() if value}
