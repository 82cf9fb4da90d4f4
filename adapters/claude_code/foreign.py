"""What other agents said, as lines that Claude Code resumes from: a run of messages in, a run of lines out.

1. A message is a line; an assistant's line holds all its blocks, and neighbours of one reply share its message id.
2. Every call is answered right after its reply, whatever stood between: an API refuses anything else. A call without a
   result gets one that says so; of two results the first counts; a result without a call is told as text.
3. What another harness put in (reminders, system prompts) is not live here: this harness puts in its own.
4. A compaction's summary begins a new branch behind a boundary, as the agent itself does it: what was said before stays
   in the file and is not read again.
5. A conversation begins with the user; where it does not, a line says so.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.accounts import Accounts
from adapters.claude_code.blocks_out import call_block, content_blocks, result_content
from adapters.claude_code.chain import Chain, moment_ms
from adapters.claude_code.fields import USAGE_FIELDS
from adapters.claude_code.fields_out import fate_of
from adapters.clock import COARSE, untimed
from adapters.conversion import Json
from adapters.fates_out import (
    AS_TEXT,
    BEGINS,
    DOUBLED,
    EMPTY,
    NO_PLACE,
    NO_RESULT,
    NO_SUMMARY,
    ORPHAN,
    Notes,
    is_summary,
    why_left_out,
)
from adapters.leaves import Fate
from adapters.pairing import PairedCall, Pairing, digest
from adapters.report import Report
from adapters.session import goes_on, metadata_of, place_of
from eventstore.wire.codec import Number

CLAMPED = Fate("degraded", "the time is later than now, or earlier than that of the line before; clamped")
NO_TIME = untimed("line")


@dataclass(slots=True)
class _Reply:
    """Neighbouring messages of one reply, and their calls with the uuid of the line that makes them."""

    message_id: str
    last: int
    calls: list[tuple[int, PairedCall, str]] = field(default_factory=list)


class Foreign:
    """Converts runs of a session's messages; `names` are what the uuids of their lines are made of."""

    def __init__(self, messages: Sequence[Json], names: Sequence[str], pairing: Pairing, model: str, report: Report) -> None:
        self._messages, self._names, self._pairing, self._report = messages, names, pairing, report
        self._accounts = Accounts(messages, fate_of, report)
        self._model = model or "unknown"
        self._lines: list[Json] = []
        self._callers: set[int] = set()  # assistants whose calls are answered in this run

    def run(self, indexes: Sequence[int], chain: Chain, before: Sequence[tuple[int, PairedCall, str]] = ()) -> list[Json]:
        """Return the lines of neighbouring messages. `before`: calls of the reply right before them that are still open."""
        self._lines, reply = [], None
        inside = set(indexes)
        self._callers = {index for index, _, _ in before} | {index for index in indexes if index in self._pairing.calls}
        self._answer(before, inside, chain)
        for index in indexes:
            message = self._messages[index]
            if reply and not (index == reply.last + 1 and goes_on(message, self._messages[reply.last])):
                self._answer(reply.calls, inside, chain)
                reply = None
            if why := why_left_out(message):
                self._accounts.left_out(index, why)
                continue
            match message["role"]:
                case "assistant":
                    reply = self._assistant(index, message, chain, reply)
                case "tool":
                    self._tool(index, message, chain)
                case _:
                    self._user(index, message, chain)
        if reply:
            self._answer(reply.calls, inside, chain)
        return self._lines

    def _user(self, index: int, message: Json, chain: Chain) -> None:
        notes: Notes = {}
        blocks = content_blocks(message.get("content"), notes)
        if is_summary(message):
            self._summary(index, message, blocks, notes, chain)
        elif blocks:
            self._add("user", index, chain, {"message": {"role": "user", "content": _plain(blocks)}}, notes)
            self._accounts.written(index, notes)
        else:
            self._accounts.left_out(index, EMPTY)

    def _summary(self, index: int, message: Json, blocks: list[Json], notes: Notes, chain: Chain) -> None:
        """Begin a new branch: a boundary, then the summary."""
        told = metadata_of(message)["compaction"]
        trigger = told.get("trigger") if isinstance(told.get("trigger"), str) else "auto"
        tokens = _whole(told.get("pre_tokens"))
        for name, is_written in (("trigger", trigger == told.get("trigger")), ("pre_tokens", tokens is not None)):
            if name in told and not is_written:
                notes["metadata", "compaction", name] = Fate("dropped", "neither a word nor a number of tokens")
        behind, chain.parent = chain.parent, None
        boundary: Json = {"logicalParentUuid": behind} if behind else {}
        boundary |= {"subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False, "level": "info"}
        boundary |= {"compactMetadata": {"trigger": trigger, "preTokens": tokens or Number("0")}}
        name = self._names[index]
        self._lines.append(chain.line("system", f"{name}:boundary", message.get("created_at"), boundary))
        self._report.note("synthesised", "lines/system.compact_boundary", "a summary begins a branch", place_of(message, index))
        content = _plain(blocks) if blocks else NO_SUMMARY
        body = {"message": {"role": "user", "content": content}, "isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        self._add("user", index, chain, body, notes)
        self._accounts.written(index, notes)

    def _assistant(self, index: int, message: Json, chain: Chain, reply: _Reply | None) -> _Reply | None:
        notes: Notes = {}
        blocks = content_blocks(message.get("content"), notes, with_media=False)
        calls = self._pairing.calls.get(index, [])
        if is_summary(message):
            notes["role",] = Fate("degraded", "a summary is a line of the user's here")
            self._summary(index, message, blocks, notes, chain)
            return None
        for place, call in enumerate(calls):
            blocks.append(call_block(call, ("tool_calls", place), notes))
        if not blocks:
            self._accounts.left_out(index, EMPTY)
            return reply
        reply = reply or _Reply(f"msg_{digest(self._names[index])}", index)
        self._add("assistant", index, chain, {"message": self._reply_body(message, blocks, reply.message_id, notes)}, notes)
        reply.last = index
        reply.calls += [(index, call, chain.parent or "") for call in calls]
        self._accounts.written(index, notes)
        return reply

    def _reply_body(self, message: Json, blocks: list[Json], message_id: str, notes: Notes) -> Json:
        metadata = metadata_of(message)
        model = metadata.get("model")
        usage = metadata.get("usage")
        counts = {name: _whole(usage.get(name)) for name in USAGE_FIELDS} if isinstance(usage, dict) else {}
        for name, count in counts.items():
            if count is None:
                notes["metadata", "usage", name] = Fate("dropped", "no number of tokens")
        if not isinstance(model, str) or not model:
            if model is not None:
                notes["metadata", "model"] = Fate("dropped", "no model's name")
            model = self._model
        has_call = any(block["type"] == "tool_use" for block in blocks)
        return {
            "model": model,
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "content": blocks,
            "stop_reason": "tool_use" if has_call else "end_turn",
            "stop_sequence": None,
            "usage": {name: counts.get(name) or Number("0") for name in USAGE_FIELDS},
        }

    def _tool(self, index: int, message: Json, chain: Chain) -> None:
        """A result: written with its call, or told as text, or left out."""
        if index in self._pairing.doubled:
            self._accounts.left_out(index, DOUBLED)
            return
        caller, _ = self._pairing.answered.get(index, (None, None))
        if caller in self._callers:
            return
        notes: Notes = {("tool_call_id",): AS_TEXT, ("role",): AS_TEXT, ("metadata", "is_error"): NO_PLACE}
        blocks = content_blocks(message.get("content"), notes)
        header = {"type": "text", "text": ORPHAN}
        self._add("user", index, chain, {"message": {"role": "user", "content": [header, *blocks]}}, notes)
        self._accounts.written(index, notes, is_degraded=True)

    def _answer(self, calls: Sequence[tuple[int, PairedCall, str]], inside: Collection[int], chain: Chain) -> None:
        """Write a line for the result of each call, made up where there is none."""
        last = max((index for index, _, _ in calls), default=-1)
        for place, (caller, call, uuid) in enumerate(calls):
            if call.result is None or call.result not in inside:
                self._no_result(caller, place, call, uuid, chain)
                continue
            index, message, notes = call.result, self._messages[call.result], Notes()
            block: Json = {"tool_use_id": call.id, "type": "tool_result", "content": result_content(message.get("content"), notes)}
            is_error = metadata_of(message).get("is_error")
            if isinstance(is_error, bool):
                block["is_error"] = is_error
            elif is_error is None and metadata_of(message).get("status") == "error":
                block["is_error"] = True
            elif is_error is not None:
                notes["metadata", "is_error"] = Fate("dropped", "neither true nor false")
            self._accounts.result_moved(index, caller, last)
            if call.is_renamed:
                notes["tool_call_id",] = NAME_OF_CALL
            self._add("user", index, chain, _result_body(block, uuid), notes)
            self._accounts.written(index, notes)

    def _no_result(self, caller: int, place: int, call: PairedCall, uuid: str, chain: Chain) -> None:
        block = {"tool_use_id": call.id, "type": "tool_result", "content": NO_RESULT, "is_error": True}
        name = f"{self._names[caller]}:result:{place}"
        self._lines.append(chain.line("user", name, None, _result_body(block, uuid)))
        self._accounts.result_made_up(caller)

    def _add(self, kind: str, index: int, chain: Chain, body: Json, notes: Notes) -> None:
        message = self._messages[index]
        if kind == "assistant" and chain.parent is None:
            opening = {"message": {"role": "user", "content": BEGINS}}
            self._lines.append(chain.line("user", f"{self._names[index]}:begins", message.get("created_at"), opening))
            self._accounts.beginning_made_up(index, "a line")
        line = chain.line(kind, self._names[index], message.get("created_at"), body)
        self._lines.append(line)
        if message.get("created_at") is not None:
            _note_time(message["created_at"], line["timestamp"], notes)


NAME_OF_CALL = Fate("degraded", "the call has another id here")


def _result_body(block: Json, caller_uuid: str) -> Json:
    message = {"message": {"role": "user", "content": [block]}}
    return message | ({"sourceToolAssistantUUID": caller_uuid} if caller_uuid else {})


def _plain(blocks: Sequence[Json]) -> str | list[Json]:
    """A single text as the agent writes a prompt: a string."""
    return str(blocks[0]["text"]) if len(blocks) == 1 and blocks[0]["type"] == "text" else list(blocks)


def _whole(value: Any) -> Number | None:
    """A count, as it was written; None for what is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = Number(str(value))
    return value if isinstance(value, Number) and value.text.isdigit() else None


def _note_time(said: Any, written: str, notes: Notes) -> None:
    moment, kept = moment_ms(said), moment_ms(written)
    if moment is None:
        notes["created_at",] = NO_TIME
    elif moment != kept:
        notes["created_at",] = CLAMPED
    elif said != written:
        notes["created_at",] = COARSE
