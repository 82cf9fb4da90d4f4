"""Names and times that Codex goes by: a session's id and the file that it is found by."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import Fate

CLAMPED = Fate("degraded", "the time is later than now; clamped")
COARSE = Fate("degraded", "kept to the millisecond, in UTC")
NO_TIME = Fate("dropped", "no time that can be written; that of the line before is taken")

_is_uuid = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
_is_exact = re.compile(r"[^.]+(\.\d{1,3})?(Z|z|[+-]00:00)").fullmatch
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def is_uuid(name: str) -> bool:
    return _is_uuid(name) is not None


def session_uuid(name: str, first_ms: int) -> str:
    """Return a session's id: the name itself where Codex takes it, else a uuid of version 7 made of it and of its first time."""
    if is_uuid(name):
        return name
    digest = sha256(f"tasuki:session:{name}".encode("utf-8", "surrogatepass")).digest()
    made = bytearray((first_ms & (1 << 48) - 1).to_bytes(6, "big") + digest[:10])
    made[6] = made[6] & 0x0F | 0x70
    made[8] = made[8] & 0x3F | 0x80
    return str(UUID(bytes=bytes(made)))


def path_of_session(session_id: str, moment: str) -> str:
    """Return where under CODEX_HOME the session is found. Codex names the folder by local time; it looks in every one."""
    at = moment_ms(moment)
    day = rfc3339(at or 0)
    return f"sessions/{day[:4]}/{day[5:7]}/{day[8:10]}/rollout-{day[:19].replace(':', '-')}-{session_id}.jsonl"


def moment_ms(moment: Any) -> int | None:
    """Milliseconds since 1970 of an RFC 3339 text; None for what is none, or lies before 1970."""
    if not isinstance(moment, str):
        return None
    try:
        ms = (datetime.fromisoformat(moment.upper()) - _EPOCH) // _MILLISECOND
    except (ValueError, TypeError, OverflowError):
        return None
    return ms if ms >= 0 else None


def rfc3339(ms: int) -> str:
    """The moment in UTC, with milliseconds, as Codex writes it."""
    return (_EPOCH + ms * _MILLISECOND).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Clock:
    """Gives each line its time: the message's, never later than now; that of the line before where it has none."""

    def __init__(self, now_ms: int, first_ms: int) -> None:
        self._now = now_ms
        self._last = min(first_ms, now_ms) if now_ms else first_ms

    def of(self, message: Json, notes: Notes) -> str:
        said = message.get("created_at")
        ms = moment_ms(said)
        if ms is None:
            if said is not None:
                notes["created_at",] = NO_TIME
            return self.same()
        self._last = min(ms, self._now) if self._now else ms
        if self._last != ms:
            notes["created_at",] = CLAMPED
        elif not _is_exact(str(said)):
            notes["created_at",] = COARSE
        return self.same()

    def same(self) -> str:
        return rfc3339(self._last)


def first_ms(messages: Sequence[Json], otherwise: int) -> int:
    """The first time that a message tells."""
    known = (moment_ms(message.get("created_at")) for message in messages)
    return next((ms for ms in known if ms is not None), otherwise)
