"""What becomes of each field of a message that another agent wrote. What no table names has no place, and is reported.

The tables are the source of the field list in the documentation.
"""

from collections.abc import Callable, Mapping
from typing import Any

from adapters import fates_out
from adapters.conversion import Json
from adapters.fates_out import HUBS_OWN, NO_PLACE, SEALED, Notes, is_nothing, is_sealed, is_summary, nearest, open_texts, path_of
from adapters.leaves import CONVERTED, Fate, Path

WRITTEN: Mapping[str, str] = {
    "role": "payload.role",
    "content": "payload.content",
    "created_at": "timestamp",
}
# Parts of a content, by their type.
PARTS: Mapping[str, Mapping[str, str]] = {
    "text": {"text": "payload.content[].text"},
    "image_url": {"image_url.url": "payload.content[].image_url", "image_url.detail": "payload.content[].detail"},
}
ASSISTANT: Mapping[str, str] = {
    "tool_calls[].id": "payload.call_id",
    "tool_calls[].type": "payload.type",
    "tool_calls[].function.name": "payload.name",
    "tool_calls[].function.arguments": "payload.arguments",
    "metadata.reply_id": "neighbours of one reply are items behind each other",
}
TOOL: Mapping[str, str] = {"tool_call_id": "payload.call_id"}
SUMMARY: Mapping[str, str] = {"metadata.compaction": "type compacted: it replaces all before"}
STAYS: Mapping[str, str] = {
    **fates_out.STAYS,
    "append_id": HUBS_OWN.reason,
    "metadata.model": "about where it came from; another model goes on",
    "metadata.provider": "about where it came from",
    "metadata.usage": "about what it cost where it came from",
    "metadata.compaction": "about where it came from",
    "metadata.subagent": "about where it came from; the link stands in the sub-agent's session",
    "metadata.origin": "told by what the line is",
}
WHOSE = Fate("kept_native", "about where the thinking came from")
SHOWN = Fate("degraded", "shown, but not sent to the model: its API takes only thinking that it sealed itself")
NO_MARK = Fate("degraded", "a result has no mark for a failure: what the tool said has to tell")


def readable(thinking: Any) -> str:
    """The thinking that nobody signed or encrypted, as one text."""
    return "\n\n".join(open_texts(thinking))


def fate_of(message: Json, notes: Notes) -> Callable[[Path, Any], Fate]:
    """Return the function that tells what becomes of a leaf of this message. `notes` come before the tables."""
    kind = "summary" if is_summary(message) else message["role"]

    def fate(path: Path, value: Any) -> Fate:
        noted = nearest(notes, path)
        if noted is not None:
            return noted
        if path[0] == "thinking":
            return _thinking(message["thinking"], path, value) if message["role"] == "assistant" or is_nothing(value) else NO_PLACE
        if path[0] == "content" and len(path) > 1:
            return CONVERTED if path[2:] in _parts.get(str(message["content"][path[1]].get("type")), ()) else NO_PLACE
        steps = tuple("[]" if isinstance(step, int) else step for step in path)
        if steps in _written or steps in _of_kind[kind] or (path[0] in _EMPTY and value in (None, {}, [])):
            return CONVERTED
        told = _told(message["role"], path, value)
        return told or nearest(_stays, steps) or NO_PLACE

    return fate


def _told(role: str, path: Path, value: Any) -> Fate | None:
    """What is told by what the line is."""
    match path:
        case ("metadata", "status") if role in ("assistant", "tool") and value == "complete":
            return CONVERTED
        case ("metadata", "is_error") if role == "tool" and isinstance(value, bool):
            return NO_MARK if value else CONVERTED
        case ("metadata", "status") if role == "tool" and value == "error":
            return NO_MARK
    return None


def _thinking(thinking: Any, path: Path, value: Any) -> Fate:
    if is_nothing(value):
        return CONVERTED
    items = thinking.get("items") if isinstance(thinking, dict) else None
    items = items if isinstance(items, list) else []
    match path:
        case (_, "items", int(index), *rest):
            if is_sealed(items[index]):
                return SEALED
            return SHOWN if rest == ["text"] else WHOSE if rest in (["provider"], ["model"], ["id"]) else NO_PLACE
        case (_, "content"):
            is_closed = any(map(is_sealed, items)) or thinking.get("encrypted") is True
            return SEALED if is_closed else SHOWN
        case (_, "encrypted"):
            return SEALED if value is True else CONVERTED
    return NO_PLACE


_written = frozenset(map(path_of, WRITTEN))
_parts = {kind: {("type",), *map(path_of, names)} for kind, names in PARTS.items()}
_of_kind: Mapping[str, frozenset[Path]] = {
    "assistant": frozenset(map(path_of, ASSISTANT)),
    "tool": frozenset(map(path_of, TOOL)),
    "summary": frozenset(map(path_of, SUMMARY)) | {path_of("metadata.reply_id")},
    "user": frozenset(),
    "system": frozenset(),
}
_stays = {path_of(name): Fate("kept_native", reason) for name, reason in STAYS.items()}
_EMPTY = frozenset({"content", "tool_calls", "metadata", "tool_call_id"})  # nothing in them is nothing to write
