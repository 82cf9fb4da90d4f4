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
    EMPTY,
    NO_RESULT,
    ORPHAN,
    Notes,
    is_summary,
    open_texts,
)
from adapters.gathering import Gathering
from adapters.leaves import CONVERTED, Fate
from adapters.pairing import PairedCall, Pairing
from adapters.report import Report
from adapters.session import metadata_of
from adapters.values import object_of, text_of

BY_USER = Fate("degraded", "a summary stands here as what the user's side says")


class Foreign(Gathering):
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
        super().__init__(messages, pairing, at_home, Accounts(messages, fate_of, report))
        self._names, self._clock, self._log = names, clock, log
        self._has_begun = bool(log.surface)
        self._own: set[int] = set()  # replies that keep their blocks

    def is_reply(self, message: Json) -> bool:
        return super().is_reply(message) and not is_summary(message)

    def write_reply(self, indexes: Sequence[int], notes: dict[int, Notes]) -> bool:
        blocks = [block for index in indexes for block in self._blocks(index, notes[index])]
        if not blocks:
            return False
        times = [self._clock.of(self.messages[index], notes[index]) for index in indexes]
        self._begin(times[0], indexes[0])
        last = self.messages[indexes[-1]]
        usage = usage_of(metadata_of(last), notes[indexes[-1]])
        for index in indexes[:-1]:
            notes[index]["metadata", "usage"] = Fate("degraded", "the last message of a reply tells its tokens")
        source = self._source(indexes, notes)
        body = {"role": "assistant", "id": self._names.message(last), "content": blocks, "source": source}
        is_cut = metadata_of(last).get("status") == "interrupted"
        self._log.assistant(body, usage, times[-1], is_interrupted=is_cut)
        calls = [(index, call) for index in indexes for call in self.pairing.calls.get(index, ())]
        written = [block for block in blocks if block["type"] == "tool-call"]
        self._report_usage(indexes, notes, usage)
        for index in indexes:
            self.accounts.written(index, notes[index])
        self._answer(calls, [self._log.call(block, self._clock.same()) for block in written])
        self._log.close_step(self._clock.same())
        return True

    def finish(self) -> None:
        """Write what is left, and close what is open."""
        super().finish()
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
        message = self.messages[index]
        calls = [call_of(call, ("tool_calls", at), notes) for at, call in enumerate(self.pairing.calls.get(index, ()))]
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
        record = record_of(self.messages[index])
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
        last = self.messages[indexes[-1]]
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
                value = metadata_of(self.messages[index]).get(name)
                if value is not None and value != names[name]:
                    notes[index]["metadata", name] = NO_MODEL
        return {"kind": "model"} | {name: sound(text, (), {}) or "unknown" for name, text in names.items()}

    def _report_usage(self, indexes: Sequence[int], notes: dict[int, Notes], usage: Json) -> None:
        if usage:
            note = notes[indexes[-1]]
            told = object_of(metadata_of(self.messages[indexes[-1]]), "usage")
            note |= {("metadata", "usage", name): CONVERTED for name in told if name in USAGE} | note

    def _answer(self, calls: Sequence[tuple[int, PairedCall]], starts: Sequence[int]) -> None:
        """Write a result for each call that has started, made up where there is none."""
        last = max((index for index, _ in calls), default=-1)
        for (caller, call), start in zip(calls, starts, strict=True):
            if call.result is None or call.result in self.at_home:
                self._log.result(self._result(call, [text_block(NO_RESULT)], is_error=True), start, self._clock.same())
                self.accounts.result_made_up(caller)
                continue
            index, message, notes = call.result, self.messages[call.result], Notes()
            self.answered.add(index)
            metadata = metadata_of(message)
            is_error = metadata.get("is_error")
            is_error = is_error if isinstance(is_error, bool) else metadata.get("status") == "error" or None
            blocks = content_of(message.get("content"), notes)
            time = self._clock.of(message, notes)
            self._log.result(self._result(call, blocks, is_error, message), start, time)
            self.accounts.result_moved(index, caller, last)
            if call.is_renamed:
                notes["tool_call_id",] = RENAMED
            self.accounts.written(index, notes)

    def _result(self, call: PairedCall, content: list[Json], is_error: bool | None, message: Json | None = None) -> Json:
        body: Json = {
            "role": "tool",
            "id": self._names.message(message) if message else self._names.made_up(f"result:{call.id}"),
            "toolCallId": call.id,
            "source": {"kind": "tool", "callId": call.id},
            "content": content,
        }
        return body | ({} if is_error is None else {"isError": is_error})

    def write_user(self, index: int, message: Json) -> None:
        notes: Notes = {}
        blocks = content_of(message.get("content"), notes)
        if blocks:
            self._user(message, blocks, notes)
            self.accounts.written(index, notes)
        else:
            self.accounts.left_out(index, EMPTY)

    def write_orphan(self, index: int, message: Json) -> None:
        notes: Notes = {("tool_call_id",): AS_TEXT, ("role",): AS_TEXT, ("metadata", "is_error"): AS_TEXT}
        self._user(message, [text_block(ORPHAN), *content_of(message.get("content"), notes)], notes)
        self.accounts.written(index, notes, is_degraded=True)

    def _user(self, message: Json, blocks: list[Json], notes: Notes) -> None:
        replaces = is_summary(message)
        if replaces and message["role"] == "assistant":
            notes["role",] = BY_USER
        body = {"role": "user", "id": self._names.message(message), "source": {"kind": "user"}, "content": blocks}
        self._log.user(body, self._clock.of(message, notes), replaces=replaces)
        self._has_begun = True

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
            self.accounts.beginning_made_up(index, "an event")
