"""Which messages OpenCode would send on, in which order, and why it would not send the others. After its own code (1.18.33).

1. Order: by time of creation, then by id; parts by place (an export has them by id).
2. `info.revert` marks a message, or a part of one: from there on everything is reverted. OpenCode removes it at the next
   prompt, and only then.
3. A compaction is a user message with a `compaction` part that a finished summary without error answers. What stands before the
   newest is compacted, but for the tail from `tail_start_id` on, which then follows the summary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.opencode.records import in_order, info_of, is_message, keys_of, parts_of
from adapters.values import int_of, object_of, text_of

REVERTED = "reverted: taken back by the user; OpenCode removes it at the next prompt"
COMPACTED = "compacted: a summary stands for it"
NO_MESSAGE = "no message: its role is unknown, or it has no parts"
OPEN = "open: it is still being written"


@dataclass(slots=True)
class Live:
    """Places among the document's messages: `branch` in order; of each other one why; where a revert cuts one through."""

    keys: list[str]
    branch: list[int] = field(default_factory=list)
    why: dict[int, str] = field(default_factory=dict)
    cuts: dict[int, int] = field(default_factory=dict)  # place -> how many of its parts are live
    open_places: set[int] = field(default_factory=set)  # the newest message, when it may still grow


def live_branch(info: Mapping[str, Any], messages: Sequence[Any]) -> Live:
    """Find what is live."""
    live = Live(keys_of(messages))
    order = in_order(live.keys, messages)
    live.why = {place: NO_MESSAGE for place in order if not is_message(messages[place])}
    spoken = [place for place in order if place not in live.why]
    spoken = _without_reverted(live, info, messages, spoken)
    live.branch = _without_compacted(live, messages, spoken)
    if order and not is_settled(messages[order[-1]]):
        live.open_places = {order[-1]}
    return live


def is_settled(record: Any) -> bool:
    """Was the message said to its end? A user's is when something follows it."""
    info = info_of(record)
    return info.get("role") == "assistant" and ("completed" in object_of(info, "time") or "error" in info)


def compaction_of(record: Any) -> dict[str, Any] | None:
    """The compaction part of a user message."""
    if info_of(record).get("role") != "user":
        return None
    return next((part for part in parts_of(record) if part.get("type") == "compaction"), None)


def is_summary(record: Any) -> bool:
    """Is it a compaction's summary that counts?"""
    info = info_of(record)
    return info.get("role") == "assistant" and bool(info.get("summary") and info.get("finish")) and not info.get("error")


def _without_reverted(live: Live, info: Mapping[str, Any], messages: Sequence[Any], spoken: list[int]) -> list[int]:
    marker = object_of(info, "revert")
    found = next((at for at, place in enumerate(spoken) if live.keys[place] == marker.get("messageID")), None)
    if found is None:
        return spoken
    kept, gone = spoken[:found], spoken[found:]
    if part_id := text_of(marker, "partID"):
        parts = messages[gone[0]]["parts"]
        cut = next((index for index, part in enumerate(parts) if text_of(part, "id") == part_id), 0)
        if cut:
            live.cuts[gone[0]] = cut
            kept.append(gone.pop(0))
    live.why |= dict.fromkeys(gone, REVERTED)
    return kept


def _without_compacted(live: Live, messages: Sequence[Any], spoken: list[int]) -> list[int]:
    """Walk back to the newest compaction, as OpenCode does; put the tail after its summary."""
    kept: list[int] = []
    answered: set[str] = set()
    retain = ""
    for place in reversed(spoken):
        record, key = messages[place], live.keys[place]
        kept.append(place)
        if retain:
            if key == retain:
                break
            continue
        part = compaction_of(record) if key in answered else None
        if part:
            retain = text_of(part, "tail_start_id")
            if not retain or retain == key:
                break
        elif is_summary(record):
            answered.add(text_of(info_of(record), "parentID"))
    kept.reverse()
    live.why |= dict.fromkeys(spoken[: len(spoken) - len(kept)], COMPACTED)
    return _with_tail_last(live.keys, messages, kept)


def _with_tail_last(keys: Sequence[str], messages: Sequence[Any], kept: list[int]) -> list[int]:
    def tail_of(place: int) -> str:
        return text_of(compaction_of(messages[place]), "tail_start_id")

    asked = next((at for at in reversed(range(len(kept))) if tail_of(kept[at])), None)
    if asked is None:
        return kept
    start = next((at for at, place in enumerate(kept) if keys[place] == tail_of(kept[asked])), asked)
    answers = (
        at
        for at in range(asked + 1, len(kept))
        if is_summary(messages[kept[at]]) and info_of(messages[kept[at]]).get("parentID") == keys[kept[asked]]
    )
    end = next(answers, None)
    if end is None or start >= asked:
        return kept
    return [*kept[asked : end + 1], *kept[start:asked], *kept[end + 1 :]]


def created_ms(record: Any) -> int | None:
    """When a message was made, in ms since 1970."""
    return int_of(object_of(info_of(record), "time").get("created"))
