"""The account that a writer gives of messages that another agent wrote: each is written or left out, with all that it says.

What a writer makes up or moves is told too. Every count ends in the mapping report.
"""

from collections.abc import Callable, Sequence
from typing import Any

from adapters.conversion import Json
from adapters.fates_out import AS_TEXT, EMPTY, SEALED, Notes
from adapters.leaves import Fate, Path, account, leaves
from adapters.report import Kind, Report
from adapters.session import place_of

MOVED = "the result stood elsewhere; it is put right behind its call"
NO_RESULT = "a call has no result; one that says so is written"


class Accounts:
    """Counts messages in a report, each named by its index. `fate_of` tells what becomes of a leaf of one that is written."""

    def __init__(
        self, messages: Sequence[Json], fate_of: Callable[[Json, Notes], Callable[[Path, Any], Fate]], report: Report
    ) -> None:
        self._messages, self._fate_of, self._report = messages, fate_of, report

    def written(self, index: int, notes: Notes, *, is_degraded: bool = False) -> None:
        """Count a message that is written, and each of its leaves. `is_degraded`: a result that is told as text."""
        message, where = self._messages[index], self._where(index)
        self._report.found("entries")
        if is_degraded:
            self._report.note("degraded", f"entries/{message['role']}", AS_TEXT.reason, where)
        else:
            self._report.converted("entries")
        self._report.message(message["role"])
        account(self._report, message, self._fate_of(message, notes), where)

    def left_out(self, index: int, reason: str, kind: Kind = "dropped") -> None:
        leave_out(self._report, self._messages[index], index, reason, kind)

    def nothing_left(self, index: int) -> None:
        """Count a reply of which nothing could be written: it said nothing, or only what opens elsewhere."""
        if self._messages[index].get("thinking"):
            self.left_out(index, SEALED.reason, "kept_native")
        else:
            self.left_out(index, EMPTY)

    def result_moved(self, index: int, caller: int, last: int) -> None:
        """Tell of a result that stood elsewhere than right behind its call. `last`: the last message of the caller's reply."""
        between = range(last + 1, index) if index > last else range(1)
        if index < caller or any(self._messages[other]["role"] != "tool" for other in between):
            self._report.warn("entries/tool", MOVED, self._where(index))

    def result_made_up(self, caller: int) -> None:
        self._report.note("synthesised", "entries/tool", NO_RESULT, self._where(caller))

    def beginning_made_up(self, index: int, record: str) -> None:
        """Tell of a record that says that the user did not begin. `record`: what the agent calls one, `a line`."""
        reason = f"a conversation must begin with the user; {record} that says so is written"
        self._report.note("synthesised", "entries/user", reason, self._where(index))

    def _where(self, index: int) -> str:
        return place_of(self._messages[index], index)


def leave_out(report: Report, message: Json, index: int, reason: str, kind: Kind = "dropped") -> None:
    """Count a message that is not written, and each of its leaves."""
    where = place_of(message, index)
    count = sum(1 for _ in leaves(message))
    report.found("entries")
    report.found("fields", count)
    report.note(kind, f"entries/{message['role']}", reason, where)
    report.note(kind, f"fields/{message['role']}", reason, where, count)
