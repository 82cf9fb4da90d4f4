"""Messages as events that the agent resumes from: those of others, and its own where a log is written anew.

1. A prompt is an event; neighbouring messages of one reply are one.
2. Every call has its result in the step of its reply, in the order of the calls: the agent refuses a log with an open one. A call
   without a result gets one that says so; of two results the first counts; a result without a call is told as text.
3. What another harness put in (reminders, system prompts) is not live here: this harness puts in its own.
4. A compaction's summary stands on the surface for all that was said before it.
5. A conversation begins with the user; where it does not, an event says so.
6. Its own replies keep their blocks and the provider's state of them, which opens there and nowhere else.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from adapters.accounts import Accounts
from adapters.carried import RENAMED
from adapters.conversion import Json
from adapters.dsh.blocks_out import NO_MODEL, Clock, call_of, content_of, is_reply_block, sound, text_block, usage_of
from adapters.dsh.fields_out import USAGE, fate_of
from adapters.dsh.home import record_of
from adapters.dsh.log import Log
from adapters.dsh.names import Names
from adapters.dsh.records import spot_of
from adapters.fates_out import (
    AS_TEXT,
    BEGINS,
    DOUBLED,
    EMPTY,
    NO_CALL,
    NO_RESULT,
    ORPHAN,
    Notes,
    is_summary,
    open_texts,
    why_left_out,
)
from adapters.leaves import CONVERTED, Fate
from adapters.pairing import PairedCall, Pairing
from adapters.report import Report
from adapters.session import goes_on, metadata_of
from adapters.values import object_of, text_of

BY_USER = Fate("degraded", "a summary stands here as what the user's side says")


@dataclass(slots=True)
class _Reply:
    """Neighbouring messages of one reply, not written yet."""

    reply_id: object
    indexes: list[int] = field(default_factory=list)


class Foreign:
    """Writes messages, in their order, behind the events that are there already."""

    def __init__(
        self,
        messages: Sequence[Json],
        pairing: Pairing,
        at_home: Collection[int],
        names: Names,
        clock: Clock,
        log: Log,
        report: Report,
    ) -> None:
        self._messages, self._pairing, self._at_home = messages, pairing, at_home
        self._names, self._clock, self._log = names, clock, log
        self._accounts = Accounts(messages, fate_of, report)
        self._reply: _Reply | None = None
        self._waiting: set[int] = set()  # results whose call was not written yet
        self._answered: set[int] = set()
        self._has_begun = bool(log.surface)
        self._own: set[int] = set()  # replies that keep their blocks

    def add(self, index: int) -> None:
        message = self._messages[index]
        if self._reply and not (index == self._reply.indexes[-1] + 1 and goes_on(message, self._reply.reply_id)):
            self.flush()
        if why := why_left_out(message):
            self._accounts.left_out(index, why)
            return
        match message["role"]:
            case "assistant" if is_summary(message):
                self._user(index, message)
            case "assistant":
                self._reply = self._reply or _Reply(metadata_of(message).get("reply_id"))
                self._reply.indexes.append(index)
            case "tool":
                self._tool(index, message)
            case _:
                self._user(index, message)

    def flush(self) -> None:
        """Write the reply that is gathered, and the results of its calls."""
        reply, self._reply = self._reply, None
        if reply is None:
            return
        notes = {index: Notes() for index in reply.indexes}
        blocks = [block for index in reply.indexes for block in self._blocks(index, notes[index])]
        if not blocks:
            for index in reply.indexes:
                self._accounts.nothing_left(index)
            return
        times = [self._clock.of(self._messages[index], notes[index]) for index in reply.indexes]
        self._begin(times[0], reply.indexes[0])
        last = self._messages[reply.indexes[-1]]
        usage = usage_of(metadata_of(last), notes[reply.indexes[-1]])
        for index in reply.indexes[:-1]:
            notes[index]["metadata", "usage"] = Fate("degraded", "the last message of a reply tells its tokens")
        source = self._source(reply.indexes, notes)
        body = {"role": "assistant", "id": self._names.message(last), "content": blocks, "source": source}
        is_cut = metadata_of(last).get("status") == "interrupted"
        self._log.assistant(body, usage, times[-1], is_interrupted=is_cut)
        calls = [(index, call) for index in reply.indexes for call in self._pairing.calls.get(index, ())]
        written = [block for block in blocks if block["type"] == "tool-call"]
        self._report_usage(reply.indexes, notes, usage)
        for index in reply.indexes:
            self._accounts.written(index, notes[index])
        self._answer(calls, [self._log.call(block, self._clock.same()) for block in written])
        self._log.close_step(self._clock.same())

    def finish(self) -> None:
        """Write what is left, and close what is open."""
        self.flush()
        for index in sorted(self._waiting - self._answered):
            self._accounts.left_out(index, NO_CALL)
        self._log.close(self._clock.same())

    def close_home(self, calls: Sequence[tuple[int, PairedCall]]) -> None:
        """Answer the calls at home that nobody answered, and close the turn that they stood in."""
        if open_calls := [(at, call) for at, call in calls if call.id in self._log.open_calls]:
            starts = []
            for _, call in open_calls:
                function = call.call["function"]
                block = {"id": call.id, "name": function["name"], "arguments": function["arguments"]}
                seq = self._log.open_calls[call.id]
                starts.append(self._log.call(block, self._clock.same()) if seq is None else seq)
            self._answer(open_calls, starts)
        self._log.close(self._clock.same(), "interrupted")

    def _blocks(self, index: int, notes: Notes) -> list[Json]:
        """What a message says: thoughts, texts, calls; of its own, the blocks that it had, in their order."""
        message = self._messages[index]
        calls = [call_of(call, ("tool_calls", at), notes) for at, call in enumerate(self._pairing.calls.get(index, ()))]
        own = self._own_blocks(index, calls)
        if own is not None:
            notes["thinking",] = CONVERTED
            self._own.add(index)
            return own
        thoughts = [sound(text, ("thinking",), notes) for text in open_texts(message.get("thinking")) if text.strip()]
        texts = content_of(message.get("content"), notes)
        return [*({"type": "reasoning", "text": text} for text in thoughts), *texts, *calls]

    def _own_blocks(self, index: int, calls: list[Json]) -> list[Json] | None:
        """The blocks of the agent's own reply, the calls as they are named here; None where it is another's, or was changed."""
        record = record_of(self._messages[index])
        spot = spot_of(record) if record else None
        blocks = spot.content if spot else None
        if not isinstance(blocks, list) or not all(map(is_reply_block, blocks)):
            return None
        places = [at for at, block in enumerate(blocks) if block.get("type") == "tool-call"]
        if len(places) != len(calls):
            return None
        named = dict(zip(places, calls, strict=True))
        return [named.get(at, block) for at, block in enumerate(blocks)] or None

    def _source(self, indexes: Sequence[int], notes: dict[int, Notes]) -> Json:
        """Who made a reply. Its own keeps all of it; that of others is named by what they say."""
        last = self._messages[indexes[-1]]
        record = record_of(last) if len(indexes) == 1 else None
        spot = spot_of(record) if record else None
        if spot is not None:
            source = object_of(spot.message, "source") or object_of(spot.message, "provenance")
            if text_of(source, "provider") and text_of(source, "model"):
                is_own = indexes[-1] in self._own
                return {name: value for name, value in source.items() if is_own or name != "replayState"} | {"kind": "model"}
        told = metadata_of(last)
        names = {"provider": text_of(told, "provider") or text_of(told, "agent_source"), "model": text_of(told, "model")}
        for index in indexes:
            for name in ("provider", "model"):
                value = metadata_of(self._messages[index]).get(name)
                if value is not None and value != names[name]:
                    notes[index]["metadata", name] = NO_MODEL
        return {"kind": "model"} | {name: sound(text, (), {}) or "unknown" for name, text in names.items()}

    def _report_usage(self, indexes: Sequence[int], notes: dict[int, Notes], usage: Json) -> None:
        if usage:
            note = notes[indexes[-1]]
            told = object_of(metadata_of(self._messages[indexes[-1]]), "usage")
            note |= {("metadata", "usage", name): CONVERTED for name in told if name in USAGE} | note

    def _answer(self, calls: Sequence[tuple[int, PairedCall]], starts: Sequence[int]) -> None:
        """Write a result for each call that has started, made up where there is none."""
        last = max((index for index, _ in calls), default=-1)
        for (caller, call), start in zip(calls, starts, strict=True):
            if call.result is None or call.result in self._at_home:
                self._log.result(self._result(call, [text_block(NO_RESULT)], is_error=True), start, self._clock.same())
                self._accounts.result_made_up(caller)
                continue
            index, message, notes = call.result, self._messages[call.result], Notes()
            self._answered.add(index)
            metadata = metadata_of(message)
            is_error = metadata.get("is_error")
            is_error = is_error if isinstance(is_error, bool) else metadata.get("status") == "error" or None
            blocks = content_of(message.get("content"), notes)
            time = self._clock.of(message, notes)
            self._log.result(self._result(call, blocks, is_error, message), start, time)
            self._accounts.result_moved(index, caller, last)
            if call.is_renamed:
                notes["tool_call_id",] = RENAMED
            self._accounts.written(index, notes)

    def _result(self, call: PairedCall, content: list[Json], is_error: bool | None, message: Json | None = None) -> Json:
        body: Json = {
            "role": "tool",
            "id": self._names.message(message) if message else self._names.made_up(f"result:{call.id}"),
            "toolCallId": call.id,
            "source": {"kind": "tool", "callId": call.id},
            "content": content,
        }
        return body | ({} if is_error is None else {"isError": is_error})

    def _user(self, index: int, message: Json, first: str = "", notes: Notes | None = None) -> None:
        notes = {} if notes is None else notes
        blocks = [*([text_block(first)] if first else []), *content_of(message.get("content"), notes)]
        if not blocks:
            self._accounts.left_out(index, EMPTY)
            return
        replaces = is_summary(message)
        if replaces and message["role"] == "assistant":
            notes["role",] = BY_USER
        body = {"role": "user", "id": self._names.message(message), "source": {"kind": "user"}, "content": blocks}
        self._log.user(body, self._clock.of(message, notes), replaces=replaces)
        self._has_begun = True
        self._accounts.written(index, notes, is_degraded=bool(first))

    def _tool(self, index: int, message: Json) -> None:
        """A result: written with its call, or told as text, or left out."""
        if index in self._pairing.doubled:
            self._accounts.left_out(index, DOUBLED)
        elif index in self._pairing.orphans:
            self._user(index, message, ORPHAN, {("tool_call_id",): AS_TEXT, ("role",): AS_TEXT, ("metadata", "is_error"): AS_TEXT})
        elif index not in self._answered:
            self._waiting.add(index)

    def _begin(self, time_ms: int, index: int) -> None:
        if not self._has_begun:
            body = {
                "role": "user",
                "id": self._names.made_up("begins"),
                "source": {"kind": "user"},
                "content": [text_block(BEGINS)],
            }
            self._log.user(body, time_ms)
            self._has_begun = True
            self._accounts.beginning_made_up(index, "an event")
