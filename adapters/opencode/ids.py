"""OpenCode's ids and times: a prefix, 12 hex digits that sort, 14 letters and digits that tell ids apart.

OpenCode's own hex digits are the low 48 bits of `ms * 4096 + n` (they begin again every 2.2 years; a session's count downwards).
Ours count from 0: they sort as the session does, and before all that OpenCode makes next; they hold no time, since a clock that was
ahead would give other ids later. The last 14 are a hash of what the record is made from: the same on every run, and another for
another session, since OpenCode's ids are names for the whole database.
"""

from collections.abc import Sequence
from hashlib import sha256

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MASK = (1 << 48) - 1


def name(seed: str) -> str:
    """14 letters and digits, the same for the same seed."""
    number = int.from_bytes(sha256(seed.encode("utf-8", "surrogatepass")).digest()[:16])
    digits = ""
    for _ in range(14):
        number, digit = divmod(number, len(_ALPHABET))
        digits += _ALPHABET[digit]
    return digits


def session_id(seed: str, ms: int) -> str:
    """A session's id; later ones sort first."""
    return f"ses_{~(ms << 12) & _MASK:012x}{name(seed)}"


def message_id(seed: str, place: int) -> str:
    """The id of the session's message at this place; they sort as they stand."""
    return f"msg_{place << 12 & _MASK:012x}{name(seed)}"


def part_id(seed: str, place: int, index: int) -> str:
    """The id of the part at this index of the message at this place; they sort as they stand."""
    return f"prt_{(place << 12) + 1 + index & _MASK:012x}{name(f'{seed}:{index}')}"


def rising(wanted: Sequence[int | None], after: int, now_ms: int) -> list[int]:
    """Return a time for each message, as wanted where that rises strictly, all after `after` and none past `now_ms` (0: any).

    Where there is no room between the two, they rise and go past.
    """
    times: list[int] = []
    last = after
    for ms in wanted:
        last = max(last + 1, ms if ms is not None else 0)
        times.append(last)
    if now_ms:
        count = len(times)
        times = [min(ms, now_ms - (count - 1 - place)) for place, ms in enumerate(times)]
    return [max(ms, after + 1 + place) for place, ms in enumerate(times)]
