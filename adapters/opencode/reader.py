"""OpenCode to standard messages: an export document in, what the hub shall append out.

**What is a message.** Every user or assistant message of the live branch (`live`) is one, and each result of a tool another: a
tool part is call and result in one. Reverted and compacted messages, and unknown records, are native records.

**When the session grows.** Messages are pushed when they were said to their end; the one that is still being written waits, unless
`is_final`. What OpenCode changes afterwards (a turn's summary, pruned outputs) is in native records, so a message never changes
and its append id stays. A revert takes messages back that may already be in the log: `off_branch` names them, and there a follower
has to fork.

**The native records** hold what the way home needs besides: `{key, record}`, a message that is not live (reverted, compacted, of an
unknown role); `{key, later}`, what of a message may still change, as it is now; `{document, order}`, the session itself, and the
keys of its messages in the order of the document. A follower leaves out the last batch of each kind, and the session, until it
rests.

**The way home** (`home`) gives the document back, value by value.
"""

from collections.abc import Iterable
from typing import Any

from adapters.conversion import Conversion, Json, Message, NativeRecords
from adapters.native_batches import batches, unreadable
from adapters.opencode.fields import SESSION_FIELDS, account, account_kept, account_session
from adapters.opencode.live import OPEN, Live, compaction_of, live_branch
from adapters.opencode.messages import Around, Converted, convert
from adapters.opencode.parts import child_session
from adapters.opencode.records import AGENT, as_kept, info_of, join_lines, parse_document, parts_of
from adapters.report import Report
from adapters.values import text_of

UNANSWERED = "the call has no result: it was interrupted, or runs still"


def read(lines: Iterable[bytes], *, is_final: bool = True) -> Conversion:
    """Convert an export, given as its lines. Never raises for what they hold."""
    raw = join_lines(lines)
    value, problem = parse_document(raw)
    if not isinstance(value, dict):
        return unreadable(AGENT, "records", raw, problem or "JSON, but no object")
    return read_document(value, is_final=is_final, problem=problem)


def read_document(document: Json, *, is_final: bool = True, problem: str = "") -> Conversion:
    """Convert an export document, made of the values of `eventstore.wire.codec`.

    `is_final=False` is for a session that runs: a message that is still being written, and the newest native records, wait.
    """
    reading = _Reading(document, is_final)
    if problem:
        reading.report.warn("session/document", problem, "session")
    return reading.conversion()


class _Reading:
    """One run of the reader."""

    def __init__(self, document: Json, is_final: bool) -> None:
        self._document, self._is_final = document, is_final
        self._info = info_of(document)
        held = document.get("messages")
        self._records: list[Any] = held if isinstance(held, list) else []
        self._live: Live = live_branch(self._info, self._records)
        self._by_key = dict(zip(self._live.keys, self._records, strict=True))
        self.version = text_of(self._info, "version") or "unknown"
        self.report = Report(AGENT, self.version, "to_standard")
        self._later: list[tuple[int, Json]] = []
        self._held = 0
        self._before: dict[int, int] = {}  # the place before each place of the branch

    def conversion(self) -> Conversion:
        """Read the messages in order, then what is none."""
        if not self._is_final:
            self._hold()
        self._before = dict(zip(self._live.branch[1:], self._live.branch, strict=False))
        messages = [message for place in self._live.branch for message in self._messages(place)]
        natives = self._natives()
        why = self._live.why
        cut = {self._live.keys[place]: "reverted" for place in self._live.cuts}
        return Conversion(
            agent=AGENT,
            version=self.version,
            meta=_meta(self._info),
            entries=(*messages, *natives),
            report=self.report.to_dict(),
            off_branch={self._live.keys[place]: reason.partition(":")[0] for place, reason in why.items()} | cut,
            subagents=self._subagents(),
            held_records=self._held,
        )

    def _hold(self) -> None:
        """Leave out the message that is still being written: neither live nor kept yet."""
        for place in self._live.open_places & set(self._live.branch):
            self._live.branch.remove(place)
            self._held += 1

    def _messages(self, place: int) -> list[Message]:
        record, key, where = self._records[place], self._live.keys[place], f"message {place + 1}"
        done = convert(record, self._around(place, record, key))
        if done.later:
            self._later.append((place + 1, {"key": key, "later": done.later}))
        self.report.found("records")
        self.report.converted("records")
        account(self.report, record, where, done.unsaid)
        self._note(done, record, where, is_open=place in self._live.open_places)
        return done.messages

    def _around(self, place: int, record: Json, key: str) -> Around:
        info = info_of(record)
        parent = text_of(info, "parentID")
        before = self._before.get(place)
        return Around(
            key=key,
            line=place + 1,
            version=self.version,
            parent_id=parent or (self._live.keys[before] if before is not None and info["role"] == "user" else None),
            asked=compaction_of(self._by_key.get(parent)),
            cut=self._live.cuts.get(place),
            is_open=place in self._live.open_places and info["role"] == "assistant",
        )

    def _note(self, done: Converted, record: Json, where: str, is_open: bool) -> None:
        for path in done.made_up:
            self.report.note("synthesised", f"fields/{path}", "the record has none that is usable", where)
        if done.is_reordered:
            reason = "the order of parts of different kinds is only in the native record"
            self.report.warn("fields/assistant.parts", reason, where)
        if is_open:
            self.report.warn("records/open", OPEN, where)
        answered = {message.body["tool_call_id"] for message in done.messages if message.body["role"] == "tool"}
        for message in done.messages:
            self.report.message(message.body["role"])
            for call in message.body.get("tool_calls", ()):
                if call["id"] not in answered:
                    self.report.warn("fields/tool.state.status", UNANSWERED, where)

    def _natives(self) -> list[NativeRecords]:
        dead = [self._dead(place, reason) for place, reason in sorted(self._live.why.items())]
        kept, held = batches(AGENT, self.version, dead, closed_only=not self._is_final)
        later, waiting = batches(AGENT, self.version, self._later, closed_only=not self._is_final)
        self._held += held + waiting
        rest = {key: value for key, value in self._document.items() if key != "messages" or not isinstance(value, list)}
        account_session(self.report, rest, {key for key in SESSION_FIELDS if text_of(self._info, key)})
        session = {"document": as_kept(rest), "order": self._live.keys}
        closing, held = batches(AGENT, self.version, [(0, session)], closed_only=not self._is_final)
        self._held += held
        return [*kept, *later, *closing]

    def _dead(self, place: int, reason: str) -> tuple[int, Json]:
        record = self._records[place]
        role = text_of(info_of(record), "role") or "unknown"
        self.report.found("records")
        self.report.note("kept_native", f"records/{role[:40]}", reason, f"message {place + 1}")
        account_kept(self.report, record, "record", reason, f"message {place + 1}")
        return place + 1, {"key": self._live.keys[place], **as_kept(record)}

    def _subagents(self) -> dict[str, str]:
        parts = (part for record in self._records for part in parts_of(record))
        return {child: text_of(part, "callID") for part in parts if (child := child_session(part))}


def _meta(info: Json) -> Json:
    """What the session says of itself. What is not known is not in it."""
    known: Json = {
        "title": text_of(info, "title"),
        "agent_source": AGENT,
        "agent_version": text_of(info, "version"),
        "native_session_id": text_of(info, "id"),
        "cwd": text_of(info, "directory"),
        "agent_name": text_of(info, "agent"),
    }
    if parent := text_of(info, "parentID"):
        known["subagent"] = {"agent_id": known["native_session_id"], "parent_session_id": parent}
    return {key: value for key, value in known.items() if value}
