"""What other agents said, as lines that Codex resumes from: a run of messages in, a run of lines out.

1. Text, each call and each result is an item of its own, in the order of the messages; beside a text stands the event that
   shows it.
2. Every call is answered: one without a result gets one that says so, behind its reply. A result that stands before its call is
   put behind it; of two results the first counts; a result without a live call, which Codex drops, is told as text.
3. What another harness put in (reminders, system prompts) is not live here: this harness puts in its own.
4. A compaction's summary becomes a `compacted` line: what was said before stays in the file and is not sent again.
5. Readable thinking is shown, and not sent: OpenAI's API refuses thinking that it did not seal itself.
"""

from collections.abc import Collection, Sequence

from adapters.accounts import Accounts
from adapters.carried import RENAMED
from adapters.codex.fields_out import fate_of
from adapters.codex.items_out import (
    call_item,
    is_said,
    message_item,
    output_of,
    parts_of,
    result_item,
    size_of,
    sound,
    text_in,
    user_event,
)
from adapters.codex.names import Clock
from adapters.conversion import Json
from adapters.fates_out import AS_TEXT, DOUBLED, EMPTY, NO_RESULT, ORPHAN, Notes, is_summary, open_texts, why_left_out
from adapters.pairing import PairedCall, Pairing
from adapters.report import Report
from adapters.session import place_of

MOVED = "the result stood before its call; it is put behind it"
SHOWN_BYTES_MAX = 12_000  # 0.171.0, of a model whose limits it does not know
LONG = "whole in the file; of so long a result Codex shows its model the beginning and the end"
NO_CALL = "the call that it answers is not written"


class Foreign:
    """Converts messages of a session, in their order, to lines."""

    def __init__(self, messages: Sequence[Json], pairing: Pairing, at_home: Collection[int], clock: Clock, report: Report) -> None:
        self._messages, self._pairing, self._at_home = messages, pairing, at_home
        self._clock, self._report = clock, report
        self._accounts = Accounts(messages, fate_of, report)
        self._lines: list[Json] = []
        self._compacted_at = -1  # the index of the newest summary
        self._open: list[tuple[int, PairedCall]] = []  # calls of the reply that wait for a result which stands nowhere behind them

    def run(self, indexes: Sequence[int]) -> list[Json]:
        """Return the lines of neighbouring messages."""
        self._lines = []
        for index in indexes:
            message = self._messages[index]
            if message["role"] != "assistant" or is_summary(message):
                self._close()
            if why := why_left_out(message):
                self._accounts.left_out(index, why)
                continue
            match message["role"]:
                case "assistant":
                    self._assistant(index, message)
                case "tool":
                    self._tool(index, message)
                case _:
                    self._user(index, message)
        self._close()
        return self._lines

    def _user(self, index: int, message: Json) -> None:
        notes: Notes = {}
        parts = parts_of(message.get("content"), notes)
        if not is_said(parts):
            self._accounts.left_out(index, EMPTY)
            return
        time = self._clock.of(message, notes)
        if is_summary(message):
            self._compacted("user", parts, time, index)
        else:
            self._say(message_item("user", parts), time)
            self._show(user_event(parts), time)
        self._accounts.written(index, notes)

    def _assistant(self, index: int, message: Json) -> None:
        notes: Notes = {}
        parts = parts_of(message.get("content"), notes, is_assistant=True)
        calls = self._pairing.calls.get(index, ())
        thought = sound("\n\n".join(open_texts(message.get("thinking"))), ("thinking",), notes)
        if not is_said(parts) and not calls and not thought.strip():
            self._accounts.nothing_left(index)
            return
        time = self._clock.of(message, notes)
        if thought.strip():
            self._show({"type": "agent_reasoning", "text": thought}, time)
        if is_said(parts) and is_summary(message):
            self._compacted("assistant", parts, time, index)
        elif is_said(parts):
            self._show({"type": "agent_message", "message": text_in(parts)}, time)
            self._say(message_item("assistant", parts), time)
        for place, call in enumerate(calls):
            self._say(call_item(call, ("tool_calls", place), notes), time)
            if call.result is None or (call.result < index and call.result not in self._at_home):
                self._open.append((index, call))
        self._accounts.written(index, notes)

    def _tool(self, index: int, message: Json) -> None:
        if index in self._pairing.doubled:
            self._accounts.left_out(index, DOUBLED)
        elif index in self._pairing.orphans or self._pairing.answered[index][0] < self._compacted_at:
            notes: Notes = {("tool_call_id",): AS_TEXT, ("role",): AS_TEXT}
            parts = [{"type": "input_text", "text": ORPHAN}, *parts_of(message.get("content"), notes)]
            self._say(message_item("user", parts), self._clock.of(message, notes))
            self._accounts.written(index, notes, is_degraded=True)
        else:
            caller, call = self._pairing.answered[index]
            if caller in self._at_home and caller > index:
                # Where it stood, nothing calls; where the call stands, nothing may be added.
                self._accounts.left_out(index, NO_CALL)
            elif caller < index:
                self._result(index, message, call)

    def _result(self, index: int, message: Json, call: PairedCall) -> None:
        notes: Notes = {}
        output = output_of(message.get("content"), notes)
        if size_of(output) > SHOWN_BYTES_MAX:
            self._report.warn("fields/tool.content", LONG, place_of(message, index))
        self._say(result_item(call.id, output), self._clock.of(message, notes))
        if call.is_renamed:
            notes["tool_call_id",] = RENAMED
        self._accounts.written(index, notes)

    def _close(self) -> None:
        """Answer the calls of a reply that no result behind them answers."""
        waiting, self._open = self._open, []
        for caller, call in waiting:
            if call.result is None:
                self._say(result_item(call.id, NO_RESULT), self._clock.same())
                self._accounts.result_made_up(caller)
            else:
                self._report.warn("entries/tool", MOVED, place_of(self._messages[call.result], call.result))
                self._result(call.result, self._messages[call.result], call)

    def _compacted(self, role: str, parts: list[Json], time: str, index: int) -> None:
        self._compacted_at = index
        payload = {"message": text_in(parts), "replacement_history": [message_item(role, parts)]}
        self._lines.append({"timestamp": time, "type": "compacted", "payload": payload})
        reason = "a summary stands for all that was said before it"
        self._report.warn("lines/compacted", reason, place_of(self._messages[index], index))

    def _say(self, item: Json, time: str) -> None:
        self._lines.append({"timestamp": time, "type": "response_item", "payload": item})

    def _show(self, event: Json, time: str) -> None:
        self._lines.append({"timestamp": time, "type": "event_msg", "payload": event})
