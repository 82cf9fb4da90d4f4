"""OpenCode's ids and times: a prefix, 12 hex digits that sort by time, 14 letters and digits that tell them apart.

The hex digits are the low 48 bits of `ms * 4096 + n`, so they begin again every 2.2 years (and a session's count downwards). The
last 14 are a hash of what the record is made from: the same on every run, and another for another session, since OpenCode's ids
are names for the whole database.
"""

from collections.abc import Sequence
from hashlib import sha256

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_MASK = (1 << 48) - 1
_ROUND_MS_BITS = 36


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


def message_id(seed: str, ms: int) -> str:
    return f"msg_{ms << 12 & _MASK:012x}{name(seed)}"


def part_id(seed: str, ms: int, place: int) -> str:
    """The id of a message's part, from its place in it; they sort as they stand."""
    return f"prt_{(ms << 12) + 1 + place & _MASK:012x}{name(f'{seed}:{place}')}"


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


def id_times(times: Sequence[int], now_ms: int) -> list[int]:
    """Return the times to make ids of: those of the messages, lifted into the round that ids are in now, so that they sort before
    the ids that OpenCode will make next."""
    begin = ((now_ms or max(times, default=0)) >> _ROUND_MS_BITS) << _ROUND_MS_BITS
    lifted: list[int] = []
    for ms in times:
        lifted.append(max(ms, begin, lifted[-1] + 1 if lifted else 0))
    return lifted
