"""What other agents said, as records that Gemini CLI resumes from.

1. A message is a record. A reply's record holds its calls and their results, as the agent's own do: a call without a result gets
   one that says so; of two results the first counts; a result without a call is told as text.
2. What another harness put in (reminders, system prompts) is not live here: this harness puts in its own.
3. A compaction's summary begins the list of messages anew: what was said before stays in the file and is not read again.
4. A conversation begins with the user; where it does not, a record says so.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from adapters.conversion import Json
from adapters.fates_out import (
    AS_TEXT,
    BEGINS,
    DOUBLED,
    EMPTY,
    HARNESS,
    NO_RESULT,
    ORPHAN,
    SEALED,
    SYSTEM,
    Notes,
    account_entry,
    is_summary,
    leave_out,
)
from adapters.gemini.fields_out import fate_of, readable
from adapters.gemini.names import tool_name, uuid_of
from adapters.gemini.records_out import (
    RENAMED,
    answer_out,
    call_out,
    is_failed,
    parts_out,
    response_part,
    sound,
    spoken,
    tokens_out,
)
from adapters.gemini.times import Clock
from adapters.leaves import Fate
from adapters.pairing import PairedCall, Pairing
from adapters.report import Kind, Report
from adapters.session import is_compaction, is_harness, metadata_of, place_of

MOVED = "the result stood elsewhere; it is put right behind its call"
NO_SUMMARY = "[What was said before was summarised, but the summary is empty.]"


@dataclass(slots=True)
class Item:
    """A record to be live. `home`: the index of the message whose own it is; `resets`: it begins the list anew."""

    record: Json
    home: int | None = None
    resets: bool = False


@dataclass(slots=True)
class Foreign:
    """Writes messages, in their order, into `items`. `names` are what the ids of their records are made of."""

    messages: Sequence[Json]
    names: Sequence[str]
    pairing: Pairing
    at_home: Collection[int]
    clock: Clock
    model: str
    report: Report
    items: list[Item] = field(default_factory=list)

    def add(self, index: int) -> None:
        message = self.messages[index]
        match message["role"]:
            case "assistant" if is_summary(message):
                self._summary(index, message)
            case "assistant" if message.get("tool_calls") or not is_harness(message) or is_compaction(message):
                self._reply(index, message)
            case "tool":
                self._tool(index, message)
            case "system":
                self._drop(index, SYSTEM)
            case _ if is_harness(message):
                self._drop(index, HARNESS)
            case _ if is_summary(message):
                self._summary(index, message)
            case _:
                self._user(index, message)

    def answer(self, index: int) -> None:
        """Write what answers the calls of a reply at home: results that others told, and for the rest one that says so."""
        calls = [call for call in self.pairing.calls.get(index, ()) if call.result is None or call.result not in self.at_home]
        parts = [part for place, call in enumerate(calls) for part in self._result(index, place, call)]
        if parts:
            self._put("user", f"{self.names[index]}:results", self.clock.same(), parts)

    def _reply(self, index: int, message: Json) -> None:
        notes: Notes = {}
        parts = parts_out(message.get("content"), notes, with_media=False)
        thoughts = [sound(text, ("thinking",), notes) for text in readable(message.get("thinking"))]
        calls = self.pairing.calls.get(index, [])
        if not calls and not thoughts and not any(part["text"].strip() for part in parts):
            self._drop(index, *((SEALED.reason, "kept_native") if message.get("thinking") else (EMPTY, "dropped")))
            return
        if not self.items:
            self._put("user", f"{self.names[index]}:begins", self.clock.of(message.get("created_at"), {}), [{"text": BEGINS}])
            reason = "a conversation must begin with the user; a record that says so is written"
            self.report.note("synthesised", "entries/user", reason, place_of(message, index))
        time = self.clock.of(message.get("created_at"), notes)
        content = parts[0]["text"] if len(parts) == 1 else parts or ""
        record = self._put("gemini", self.names[index], time, content)
        record["thoughts"] = [{"subject": "", "description": text, "timestamp": time} for text in thoughts]
        if (tokens := tokens_out(metadata_of(message).get("usage"))) is not None:
            record["tokens"] = tokens
        model = metadata_of(message).get("model")
        record["model"] = model if isinstance(model, str) and model else self.model or "unknown"
        told = [call_out(call, ("tool_calls", place), notes) for place, call in enumerate(calls)]
        self._account(index, notes)
        if told:
            record["toolCalls"] = [
                one | self._outcome(index, place, call, time) for place, (one, call) in enumerate(zip(told, calls, strict=True))
            ]

    def _outcome(self, caller: int, place: int, call: PairedCall, time: str) -> Json:
        """What a call's record says of its result."""
        result = self._result(caller, place, call)
        answer = self.messages[call.result] if call.result is not None else None
        failed = answer is None or is_failed(answer)
        interrupted = answer is not None and metadata_of(answer).get("status") == "interrupted"
        status = ("cancelled" if interrupted else "error") if failed else "success"
        name = tool_name(str(call.call["function"]["name"]))
        return {"result": result, "status": status, "timestamp": time, "displayName": name, "description": ""}

    def _result(self, caller: int, place: int, call: PairedCall) -> list[Json]:
        """The parts of a call's result, made up where there is none."""
        name = tool_name(str(call.call["function"]["name"]))
        if call.result is None:
            where = place_of(self.messages[caller], caller)
            self.report.note("synthesised", "entries/tool", "a call has no result; one that says so is written", where)
            return [response_part(call.id, name, NO_RESULT, True)]
        index, message, notes = call.result, self.messages[call.result], Notes()
        parts = answer_out(call.id, name, message, notes)
        if message.get("created_at") is not None:
            notes["created_at",] = WITH_CALL
        if call.is_renamed:
            notes["tool_call_id",] = RENAMED
        between = range(caller + 1, index) if index > caller else range(1)
        if index < caller or any(self.messages[other]["role"] != "tool" for other in between):
            self.report.warn("entries/tool", MOVED, place_of(message, index))
        self._account(index, notes)
        return parts

    def _user(self, index: int, message: Json) -> None:
        notes: Notes = {}
        parts = spoken(parts_out(message.get("content"), notes), ("content",), notes)
        if not parts:
            self._drop(index, EMPTY)
            return
        self._put("user", self.names[index], self.clock.of(message.get("created_at"), notes), parts)
        self._account(index, notes)

    def _summary(self, index: int, message: Json) -> None:
        """Begin the list anew."""
        notes: Notes = {("role",): Fate("degraded", "a summary is the user's here")} if message["role"] == "assistant" else {}
        parts = spoken(parts_out(message.get("content"), notes), ("content",), notes) or [{"text": NO_SUMMARY}]
        self._put("user", self.names[index], self.clock.of(message.get("created_at"), notes), parts)
        self.items[-1].resets = len(self.items) > 1
        if not self.items[-1].resets:
            notes["metadata", "compaction"] = NOTHING_BEFORE
        self._account(index, notes)

    def _tool(self, index: int, message: Json) -> None:
        """A result: written with its call, or told as text, or left out."""
        if index in self.pairing.doubled:
            self._drop(index, DOUBLED)
        elif index in self.pairing.orphans:
            notes: Notes = {("tool_call_id",): AS_TEXT, ("role",): AS_TEXT, ("metadata", "is_error"): AS_TEXT}
            parts = [{"text": ORPHAN}, *parts_out(message.get("content"), notes)]
            self._put("user", self.names[index], self.clock.of(message.get("created_at"), notes), parts)
            self._account(index, notes, is_degraded=True)

    def _put(self, kind: str, name: str, time: str, content: str | list[Json]) -> Json:
        record: Json = {"id": uuid_of(name), "timestamp": time, "type": kind, "content": content}
        self.items.append(Item(record))
        return record

    def _account(self, index: int, notes: Notes, *, is_degraded: bool = False) -> None:
        message = self.messages[index]
        account_entry(self.report, message, index, fate_of(message, notes), is_degraded=is_degraded)

    def _drop(self, index: int, reason: str, kind: Kind = "dropped") -> None:
        leave_out(self.report, self.messages[index], index, reason, kind)


NOTHING_BEFORE = Fate("kept_native", "nothing stands before it that it could stand for; it is the first thing said")
WITH_CALL = Fate("degraded", "a result has no time of its own: it stands with its call")
