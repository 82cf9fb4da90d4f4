"""Gemini CLI to standard messages: a session's lines in, what the hub shall append out.

**What is a message.** What `log` finds live: of a user's record what was said, of a reply's what the model said, then the results
of its calls. The harness's own context is a message too, of origin `harness`. What only the screen shows (info, errors), what a
rewind or a compression took away, and records that tell again what others tell, are native records.

**When the file grows.** What is told is told by the record that told it first (`log`, 2), so append ids stay. A reply's record is
written when all its words have come; its calls are told when they have their results. A follower (`is_final=False`) leaves out what
has neither until another record stands behind it. `off_branch` names what was rewound.

**Everything else** is a native record by line number: headers, `$set`s, `$rewindTo`s, dead and unknown lines. The way home (`home`)
gives every line back, JSON value by JSON value.
"""

from collections.abc import Iterable, Mapping, Sequence

from adapters.conversion import Conversion, Json, Message, NativeRecords
from adapters.gemini.fields import account_kept, account_record, account_state
from adapters.gemini.log import Live, Log, Place, fold
from adapters.gemini.messages import Around, Converted, convert
from adapters.gemini.records import (
    AGENT,
    LEGACY,
    MESSAGE_TYPES,
    SHOWN_TYPES,
    VERSION,
    File,
    Line,
    is_context,
    items_of,
    kind_of,
    plain_text,
    read_file,
    workspace_of,
)
from adapters.json_lines import NOT_OBJECT
from adapters.line_blocks import batches, blocks
from adapters.report import Report
from adapters.values import text_of

AGAIN = "tells again what stands with the calls"
SHOWN = "for the screen: no model is sent it"
UNKNOWN = "unknown record type"
NO_RECORD = "no record that the agent knows"
STATES = "no message: it changes what the lines before it say"
TITLE_CHARS_MAX = 80


def read(lines: Iterable[bytes], *, is_final: bool = True) -> Conversion:
    """Convert a session, given as its lines (with or without line ends). Never raises for what they hold.

    `is_final=False` is for a session that runs: calls at the end that have no result, and the native records of the block at the
    end, wait.
    """
    return _Reading(read_file(lines), is_final).whole()


class _Reading:
    def __init__(self, file: File, is_final: bool) -> None:
        self._file, self._is_final = file, is_final
        self._log: Log = fold(file.lines)
        self._version = LEGACY if file.is_document else VERSION
        self._report = Report(AGENT, self._version, "to_standard")
        self._meta = _meta(self._log, is_subagent=bool(file.lines) and file.lines[0].record.get("kind") == "subagent")
        self._why: dict[Place, str] = dict(self._log.dead)  # why a message record tells no message
        self._told: dict[Place, Converted] = {}
        self._waiting: set[Place] = set()
        self._subagents: dict[str, str] = {}

    def whole(self) -> Conversion:
        messages = self._messages()
        carried = {message.line for message in messages if "record" in message.body["native"]}
        cuts = blocks([len(line.raw) for line in self._file.lines])
        open_block = cuts.pop() if not self._is_final and cuts else range(0)
        waiting = {place.line for place in self._waiting if place.item < 0}
        held = {index + 1 for index in open_block if index + 1 not in carried} | waiting
        kept = frozenset(line.number for line in self._file.lines) - carried - waiting
        numbered = ((line.number, memoryview(line.raw)) for line in self._file.lines)
        natives = batches(AGENT, numbered, cuts, kept.__contains__, [self._version] * len(self._file.lines))
        entries: tuple[Message | NativeRecords, ...] = (*messages, *natives)
        for line in self._file.lines:
            if line.number not in held:
                self._account(line, line.number in carried)
        self._warn(messages)
        off_branch = {native_id: why.partition(":")[0] for native_id, why in self._log.off_branch.items()}
        report = self._report.to_dict()
        return Conversion(AGENT, self._version, self._meta, entries, report, off_branch, self._subagents, len(held))

    def _messages(self) -> list[Message]:
        around = Around(self._version, is_subagent="subagent" in self._meta)
        exact = {line.number for line in self._file.lines if line.parsed.is_exact}
        messages: list[Message] = []
        for one in self._log.live:
            for telling in one.tellings:
                place, kind = telling.place, telling.record.get("type")
                if kind not in MESSAGE_TYPES:
                    self._why[place] = SHOWN if kind in SHOWN_TYPES else UNKNOWN
                    continue
                if not self._is_final and telling.is_open:
                    self._waiting.add(place)
                    continue
                done = convert(telling, around, is_exact=place.line in exact, is_summary=one.is_summary)
                if not done.messages:
                    self._why[place] = AGAIN
                    continue
                self._told[place] = done
                self._subagents |= done.subagents
                messages += done.messages
        return messages

    def _account(self, line: Line, is_carried: bool) -> None:
        """Count a line and every leaf of it."""
        where, record, kind = f"line {line.number}", line.record, kind_of(line.record)
        self._report.found("lines")
        if is_carried:
            self._report.converted("lines")
        else:
            self._report.note("kept_native", f"lines/{_name(line, kind)}", self._reason(line, kind), where)
        if kind == "message":
            self._account_message(record, Place(line.number), where)
        elif kind in ("$set", "header"):
            account_state(self._report, record, self._meta, where)
            for at, item in enumerate(items_of(record)):
                self._account_message(item, Place(line.number, at), f"{where}, message {at + 1}")
        elif line.problem in ("", NOT_OBJECT):
            account_kept(self._report, line.parsed.value, _name(line, kind), self._reason(line, kind), where)

    def _account_message(self, record: object, place: Place, where: str) -> None:
        done = self._told.get(place)
        if done is None:
            kind = text_of(record, "type")[:40] if isinstance(record, dict) else ""
            account_kept(self._report, record, kind or "untyped", self._why.get(place, NO_RECORD), where)
            return
        assert isinstance(record, dict)
        account_record(self._report, record, where, done.unsaid)
        for message in done.messages:
            self._report.message(message.body["role"])
        for path in done.made_up:
            reason = "the record has none that is usable; made from its place and text"
            self._report.note("synthesised", f"fields/{path}", reason, where)

    def _reason(self, line: Line, kind: str) -> str:
        if line.problem:
            return line.problem
        place = Place(line.number)
        if kind == "message":
            return self._why.get(place, "kept as text: the message points to it" if place in self._told else NO_RECORD)
        return STATES if kind else NO_RECORD

    def _warn(self, messages: Sequence[Message]) -> None:
        """Add what a reader of the report should look at, though it is counted elsewhere."""
        for line in self._file.lines:
            if line.problem:
                self._report.warn("lines/unreadable", line.problem, f"line {line.number}")
        unanswered: dict[str, str] = {}
        for message in messages:
            unanswered |= {call["id"]: f"line {message.line}" for call in message.body.get("tool_calls", ())}
            unanswered.pop(message.body.get("tool_call_id", ""), None)
        for where in unanswered.values():
            self._report.warn("fields/gemini.toolCalls", "a call has no result among the live messages", where)
        if self._file.has_bom:
            self._report.warn("file", "the byte order mark at its start is not kept", "line 1")
        if self._file.has_crlf:
            self._report.warn("file", "that lines end in CR LF is not kept", "line 1")


def _name(line: Line, kind: str) -> str:
    """How a report names a kind of line."""
    if line.problem:
        return "unreadable"
    return (text_of(line.record, "type")[:40] or "untyped") if kind == "message" else kind or "unknown"


def _meta(log: Log, *, is_subagent: bool) -> Json:
    """What the session says of itself; what kind it is, its first line tells. What is not known is not in it."""
    told: Mapping[str, object] = log.metadata
    directories = told.get("directories")
    first = next((item for item in directories if isinstance(item, str)), "") if isinstance(directories, list) else ""
    session_id = text_of(log.metadata, "sessionId")
    known: Json = {
        "title": text_of(log.metadata, "summary") or next(filter(None, map(_title, log.live)), ""),
        "agent_source": AGENT,
        "native_session_id": session_id,
        "cwd": first or next(filter(None, (workspace_of(one.record) for one in log.live)), ""),
    }
    if is_subagent:
        known["subagent"] = {"agent_id": session_id} if session_id else {"agent_id": "unknown"}
    return {name: value for name, value in known.items() if value}


def _title(one: Live) -> str:
    if one.record.get("type") != "user" or is_context(one.record) or one.is_summary:
        return ""
    lines = (line.strip() for line in plain_text(one.record.get("content")).splitlines())
    return next(filter(None, lines), "")[:TITLE_CHARS_MAX]
