"""The times that a writer gives records: the message's, never later than now; that of the record before where it has none."""

import re
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import Fate
from adapters.moments import moment_of

Time = TypeVar("Time")

CLAMPED = Fate("degraded", "the time is later than now; clamped")
COARSE = Fate("degraded", "kept to the millisecond, in UTC")
_exact = re.compile(r"[^.]+(\.\d{1,3})?(Z|z|[+-]00:00)")


def untimed(record: str) -> Fate:
    """What becomes of a time that none can be written for. `record`: what the agent calls one."""
    return Fate("dropped", f"no time that can be written; that of the {record} before is taken")


class Clock(ABC, Generic[Time]):
    """Counts in milliseconds. An agent's own says how it spells a time, and what it does otherwise."""

    coarse = COARSE
    no_time: Fate

    def __init__(self, now: int, first: int) -> None:
        self._now = now
        self._last = min(first, now) if now else first

    def of(self, message: Json, notes: Notes) -> Time:
        said = message.get("created_at")
        moment = self.moment(said)
        if moment is None:
            if said is not None:
                notes["created_at",] = self.no_time
            return self.same()
        self._last = min(moment, self._now) if self._now else moment
        if self._last != moment:
            notes["created_at",] = CLAMPED
        elif not self.is_exact(str(said)):
            notes["created_at",] = self.coarse
        return self.same()

    def same(self) -> Time:
        return self.spelled(self._last)

    @abstractmethod
    def spelled(self, moment: int) -> Time:
        """A time as the agent writes one."""

    def moment(self, said: object) -> int | None:
        return moment_of(said)

    def is_exact(self, said: str) -> bool:
        """Is it in UTC, and no finer than what is counted?"""
        return _exact.fullmatch(said) is not None
