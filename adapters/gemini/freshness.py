"""When a session was written to last: one that was not for 30 days the agent deletes when it starts (`general.sessionRetention`).

So a session of long ago that is put there to be gone on with says that it was written to today: by the day, so that the same day
gives the same lines.
"""

from collections.abc import Sequence

from adapters.gemini.log import fold
from adapters.gemini.records import read_file
from adapters.gemini.records_out import line_of
from adapters.gemini.times import moment_ms
from adapters.moments import stamp

DAY_MS = 24 * 60 * 60 * 1000
DAYS_MAX = 14  # older ones are told to be of today


def fresh(last_ms: int, now_ms: int) -> str:
    """Return what to say for a session that was written to last at `last_ms`. `now_ms` 0: it is not known."""
    if not now_ms:
        return stamp(last_ms)
    return stamp(min(last_ms, now_ms) if now_ms - last_ms <= DAYS_MAX * DAY_MS else now_ms - now_ms % DAY_MS)


def freshened(lines: Sequence[bytes], now_ms: int) -> list[bytes]:
    """Return a session's lines, with one more where they say that it was written to long ago."""
    told = fold(read_file(lines).lines).metadata.get("lastUpdated")
    last_ms = moment_ms(told) or 0
    if now_ms - last_ms <= DAYS_MAX * DAY_MS:
        return list(lines)
    last = lines[-1] if lines[-1:] and lines[-1].endswith(b"\n") else (lines[-1] + b"\n" if lines else b"")
    return [*lines[:-1], *([last] if last else []), line_of({"$set": {"lastUpdated": fresh(last_ms, now_ms)}}) + b"\n"]
