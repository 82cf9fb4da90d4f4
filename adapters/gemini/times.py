"""Moments as the agent writes them: UTC, milliseconds, Z."""

from datetime import UTC, datetime, timedelta
from typing import Any

from adapters.fates_out import Notes
from adapters.leaves import Fate

CLAMPED = Fate("degraded", "the time is later than now; clamped")
COARSE = Fate("degraded", "kept to the millisecond, in UTC")
NO_TIME = Fate("dropped", "no time that can be written; that of the record before is taken")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def moment_ms(text: Any) -> int | None:
    """Return an RFC 3339 time in ms since 1970, or None when it is none, or earlier than that."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return None
    return since // _MILLISECOND if since >= timedelta() else None


def stamp(time_ms: int) -> str:
    return (_EPOCH + time_ms * _MILLISECOND).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Clock:
    """Gives each record its time: the message's, never later than now; that of the record before where it has none."""

    def __init__(self, now_ms: int, first_ms: int) -> None:
        self._now_ms = now_ms
        self._last_ms = min(first_ms, now_ms) if now_ms else first_ms

    def of(self, said: Any, notes: Notes) -> str:
        told = moment_ms(said)
        if told is None:
            if said is not None:
                notes["created_at",] = NO_TIME
            return self.same()
        self._last_ms = min(told, self._now_ms) if self._now_ms else told
        if self._last_ms != told:
            notes["created_at",] = CLAMPED
        elif said != self.same():
            notes["created_at",] = COARSE
        return self.same()

    def same(self) -> str:
        return stamp(self._last_ms)
