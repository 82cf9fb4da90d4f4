"""What other agents said, as records that Gemini CLI resumes from.

1. A message is a record. A reply's record holds its calls and their results, as the agent's own do: a call without a result gets
   one that says so; of two results the first counts; a result without a call is told as text.
2. What another harness put in (reminders, system prompts) is not live here: this harness puts in its own.
3. A compaction's summary begins the list of messages anew: what was said before stays in the file and is not read again.
4. A conversation begins with the user; where it does not, a record says so.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from adapters.accounts import Accounts
from adapters.carried import RENAMED
from adapters.conversion import Json
from adapters.fates_out import (
    AS_TEXT,
    BEGINS,
    DOUBLED,
    EMPTY,
    NO_RESULT,
    NO_SUMMARY,
    ORPHAN,
    Notes,
    is_summary,
    open_texts,
    why_left_out,
)
from adapters.gemini.fields_out import fate_of
from adapters.gemini.names import tool_name, uuid_of
from adapters.gemini.records_out import (
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
from adapters.report import Report
from adapters.session import metadata_of


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
    accounts: Accounts = field(init=False)

    def __post_init__(self) -> None:
        self.accounts = Accounts(self.messages, fate_of, self.report)

    def add(self, index: int) -> None:
        message = self.messages[index]
        if why := why_left_out(message):
            self.accounts.left_out(index, why)
            return
        match message["role"]:
            case "tool":
                self._tool(index, message)
            case _ if is_summary(message):
                self._summary(index, message)
            case "assistant":
                self._reply(index, message)
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
        thoughts = [sound(text, ("thinking",), notes) for text in open_texts(message.get("thinking"))]
        calls = self.pairing.calls.get(index, [])
        if not calls and not thoughts and not any(part["text"].strip() for part in parts):
            self.accounts.nothing_left(index)
            return
        if not self.items:
            self._put("user", f"{self.names[index]}:begins", self.clock.of(message, {}), [{"text": BEGINS}])
            self.accounts.beginning_made_up(index, "a record")
        time = self.clock.of(message, notes)
        content = parts[0]["text"] if len(parts) == 1 else parts or ""
        record = self._put("gemini", self.names[index], time, content)
        record["thoughts"] = [{"subject": "", "description": text, "timestamp": time} for text in thoughts]
        if (tokens := tokens_out(metadata_of(message).get("usage"))) is not None:
            record["tokens"] = tokens
        model = metadata_of(message).get("model")
        record["model"] = model if isinstance(model, str) and model else self.model or "unknown"
        told = [call_out(call, ("tool_calls", place), notes) for place, call in enumerate(calls)]
        self.accounts.written(index, notes)
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
            self.accounts.result_made_up(caller)
            return [response_part(call.id, name, NO_RESULT, True)]
        index, message, notes = call.result, self.messages[call.result], Notes()
        parts = answer_out(call.id, name, message, notes)
        if message.get("created_at") is not None:
            notes["created_at",] = WITH_CALL
        if call.is_renamed:
            notes["tool_call_id",] = RENAMED
        self.accounts.result_moved(index, caller, caller)
        self.accounts.written(index, notes)
        return parts

    def _user(self, index: int, message: Json) -> None:
        notes: Notes = {}
        parts = spoken(parts_out(message.get("content"), notes), ("content",), notes)
        if not parts:
            self.accounts.left_out(index, EMPTY)
            return
        self._put("user", self.names[index], self.clock.of(message, notes), parts)
        self.accounts.written(index, notes)

    def _summary(self, index: int, message: Json) -> None:
        """Begin the list anew."""
        notes: Notes = {("role",): Fate("degraded", "a summary is the user's here")} if message["role"] == "assistant" else {}
        parts = spoken(parts_out(message.get("content"), notes), ("content",), notes) or [{"text": NO_SUMMARY}]
        self._put("user", self.names[index], self.clock.of(message, notes), parts)
        self.items[-1].resets = len(self.items) > 1
        if not self.items[-1].resets:
            notes["metadata", "compaction"] = NOTHING_BEFORE
        self.accounts.written(index, notes)

    def _tool(self, index: int, message: Json) -> None:
        """A result: written with its call, or told as text, or left out."""
        if index in self.pairing.doubled:
            self.accounts.left_out(index, DOUBLED)
        elif index in self.pairing.orphans:
            notes: Notes = {("tool_call_id",): AS_TEXT, ("role",): AS_TEXT, ("metadata", "is_error"): AS_TEXT}
            parts = [{"text": ORPHAN}, *parts_out(message.get("content"), notes)]
            self._put("user", self.names[index], self.clock.of(message, notes), parts)
            self.accounts.written(index, notes, is_degraded=True)

    def _put(self, kind: str, name: str, time: str, content: str | list[Json]) -> Json:
        record: Json = {"id": uuid_of(name), "timestamp": time, "type": kind, "content": content}
        self.items.append(Item(record))
        return record


NOTHING_BEFORE = Fate("kept_native", "nothing stands before it that it could stand for; it is the first thing said")
WITH_CALL = Fate("degraded", "a result has no time of its own: it stands with its call")
