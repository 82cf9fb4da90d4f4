"""What other agents said, as rows that Hermes resumes from.

1. A message is a row; neighbouring messages of one reply are one, since Hermes joins assistants that follow each other in its own
   way before each request.
2. Every call is answered right behind its row, in the order of the calls: Hermes drops a result that stands elsewhere, and a model
   refuses a call without one. A call without a result gets one that says so; of two results the first counts; a result without a
   call is told as text.
3. What another harness put in (reminders, system prompts) is not live here: this harness puts in its own.
4. What a compaction's summary stands for is written as Hermes keeps it: not live, marked as compacted.
5. A conversation begins with the user; where it does not, a row says so.
"""

from collections.abc import Collection, Sequence
from typing import Any

from adapters.accounts import Accounts
from adapters.carried import RENAMED, tool_name
from adapters.conversion import Json
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
from adapters.hermes.fields_out import fate_of
from adapters.hermes.records import why_dead
from adapters.hermes.rows_out import Clock, call_of, content_of, joined, new_row, sound
from adapters.pairing import PairedCall, Pairing
from adapters.report import Report
from adapters.session import place_of
from eventstore.wire.codec import Number


class Foreign(Gathering):
    """Writes messages, in their order, behind the rows that are there already."""

    def __init__(
        self,
        messages: Sequence[Json],
        pairing: Pairing,
        at_home: Collection[int],
        clock: Clock,
        rows: list[Any],
        report: Report,
    ) -> None:
        super().__init__(messages, pairing, at_home, Accounts(messages, fate_of, report))
        self._clock, self._rows, self._report = clock, rows, report

    def write_reply(self, indexes: Sequence[int], notes: dict[int, Notes]) -> bool:
        messages = [(self.messages[index], notes[index]) for index in indexes]
        content = joined([content_of(message.get("content"), note, with_images=False) for message, note in messages])
        thoughts = [sound("\n\n".join(open_texts(message.get("thinking"))), ("thinking",), note) for message, note in messages]
        calls = [
            call_of(call, ("tool_calls", place), notes[index])
            for index in indexes
            for place, call in enumerate(self.pairing.calls.get(index, ()))
        ]
        thought = "\n\n".join(filter(None, thoughts))
        if not _is_said(content) and not calls and not thought:
            return False
        times = [self._clock.of(message, note) for message, note in messages]
        self._begin(times[0], indexes[0])
        if is_summary(messages[0][0]):
            self._compact(indexes[0])
        more: Json = {"tool_calls": calls or None, "reasoning": thought or None}
        more["finish_reason"] = "tool_calls" if calls else "stop"
        self._rows.append(new_row("assistant", content or None if calls else content, times[0], **more))
        for index in indexes:
            self.accounts.written(index, notes[index])
        self.answer([(index, call) for index in indexes for call in self.pairing.calls.get(index, ())])
        return True

    def answer(self, calls: Sequence[tuple[int, PairedCall]]) -> None:
        """Write a result for each call, made up where there is none; those at home stand in the session already."""
        last = max((index for index, _ in calls), default=-1)
        for caller, call in calls:
            if call.result in self.at_home:
                continue
            name = str(call.call["function"]["name"])
            if call.result is None:
                row = new_row("tool", NO_RESULT, self._clock.same(), tool_call_id=call.id, tool_name=tool_name(name))
                self._rows.append(row)
                self.accounts.result_made_up(caller)
                continue
            index, message, notes = call.result, self.messages[call.result], Notes()
            self.answered.add(index)
            content = content_of(message.get("content"), notes)
            time = self._clock.of(message, notes)
            self._rows.append(new_row("tool", content, time, tool_call_id=call.id, tool_name=tool_name(name)))
            self.accounts.result_moved(index, caller, last)
            if call.is_renamed:
                notes["tool_call_id",] = RENAMED
            self.accounts.written(index, notes)

    def write_user(self, index: int, message: Json) -> None:
        notes: Notes = {}
        content = content_of(message.get("content"), notes)
        if not _is_said(content):
            self.accounts.left_out(index, EMPTY)
            return
        if is_summary(message):
            self._compact(index)
        self._rows.append(new_row("user", content, self._clock.of(message, notes)))
        self.accounts.written(index, notes)

    def write_orphan(self, index: int, message: Json) -> None:
        notes: Notes = {("tool_call_id",): AS_TEXT, ("role",): AS_TEXT}
        content = joined([ORPHAN, content_of(message.get("content"), notes)])
        self._rows.append(new_row("user", content, self._clock.of(message, notes)))
        self.accounts.written(index, notes, is_degraded=True)

    def _begin(self, time: Number, index: int) -> None:
        is_first = not any(not why_dead(row) and row["role"] != "system" for row in self._rows)
        if is_first and not is_summary(self.messages[index]):
            self._rows.append(new_row("user", BEGINS, time))
            self.accounts.beginning_made_up(index, "a row")

    def _compact(self, index: int) -> None:
        """Mark what is live as compacted."""
        live = [row for row in self._rows if not why_dead(row)]
        for row in live:
            row |= {"active": Number("0"), "compacted": Number("1")}
        if live:
            reason = "a summary stands for the rows before it; they are marked as compacted"
            self._report.warn("rows/compacted", reason, place_of(self.messages[index], index), len(live))


def _is_said(content: str | list[Json]) -> bool:
    """Is there anything but blanks in it?"""
    if isinstance(content, str):
        return bool(content.strip())
    return any(part["type"] != "text" or part["text"].strip() for part in content)
