"""What becomes of each field of a message that another agent wrote. What no table names has no place, and is reported.

The tables are the source of the field list in the documentation.
"""

from collections.abc import Callable, Mapping
from typing import Any

from adapters import fates_out
from adapters.conversion import Json
from adapters.fates_out import NO_PLACE, SEALED, Notes, is_sealed, is_summary, nearest, path_of
from adapters.leaves import CONVERTED, Fate, Path

WRITTEN: Mapping[str, str] = {
    "role": "type, message.role",
    "append_id": "uuid",
    "created_at": "timestamp",
    "content": "message.content",
}
# Parts of a content, by their type.
PARTS: Mapping[str, Mapping[str, str]] = {
    "text": {"text": "message.content[].text"},
    "image_url": {"image_url.url": "message.content[].source"},
    "file": {"file.file_data": "message.content[].source", "file.filename": "message.content[].title"},
}
ASSISTANT: Mapping[str, str] = {
    "tool_calls[].id": "message.content[].id",
    "tool_calls[].type": "message.content[].type",
    "tool_calls[].function.name": "message.content[].name",
    "tool_calls[].function.arguments": "message.content[].input",
    "metadata.model": "message.model",
    "metadata.usage.input_tokens": "message.usage.input_tokens",
    "metadata.usage.output_tokens": "message.usage.output_tokens",
    "metadata.usage.cache_creation_input_tokens": "message.usage.cache_creation_input_tokens",
    "metadata.usage.cache_read_input_tokens": "message.usage.cache_read_input_tokens",
    "metadata.reply_id": "message.id: neighbours of one reply share it",
}
TOOL: Mapping[str, str] = {
    "tool_call_id": "message.content[].tool_use_id",
    "metadata.is_error": "message.content[].is_error",
}
SUMMARY: Mapping[str, str] = {
    "metadata.compaction": "isCompactSummary, behind a boundary",
    "metadata.compaction.trigger": "compactMetadata.trigger",
    "metadata.compaction.pre_tokens": "compactMetadata.preTokens",
}
# What a status says by other means.
STATUS: Mapping[str, str] = {"assistant": "complete", "tool": "error"}
STAYS: Mapping[str, str] = {
    **fates_out.STAYS,
    "metadata.compaction.replaces_through": "about where it came from",
    "metadata.subagent": "about where it came from; the link stands beside the sub-agent's file",
    "metadata.origin": "told by what the line is",
}
UNSIGNED_THINKING = Fate("dropped", "thinking without this API's signature is refused")


def fate_of(message: Json, notes: Notes) -> Callable[[Path, Any], Fate]:
    """Return the function that tells what becomes of a leaf of this message. `notes` come before the tables."""
    role = "summary" if is_summary(message) else message["role"]

    def fate(path: Path, value: Any) -> Fate:
        noted = nearest(notes, path)
        if noted is not None:
            return noted
        if path[0] == "thinking":
            return _thinking(message["thinking"], path, value)
        if path[0] == "content" and len(path) > 1:
            kind = message["content"][path[1]].get("type")
            return CONVERTED if path[2:] in _parts.get(kind, ()) else NO_PLACE
        steps = tuple("[]" if isinstance(step, int) else step for step in path)
        if steps in _written or steps in _of_role[role] or (path[0] in _EMPTY and value in (None, {}, [])):
            return CONVERTED
        if steps == ("metadata", "status") and STATUS.get(role) == value:
            return CONVERTED
        return nearest(_stays, steps) or NO_PLACE

    return fate


_written = frozenset(map(path_of, WRITTEN))
_parts = {kind: {("type",), *map(path_of, names)} for kind, names in PARTS.items()}
_of_role: Mapping[str, frozenset[Path]] = {
    "assistant": frozenset(map(path_of, ASSISTANT)),
    "tool": frozenset(map(path_of, TOOL)),
    "summary": frozenset(map(path_of, SUMMARY)),
    "user": frozenset(),
}
_stays = {path_of(name): Fate("kept_native", reason) for name, reason in STAYS.items()}
_EMPTY = frozenset({"content", "tool_calls", "metadata", "tool_call_id"})  # nothing in them is nothing to write


def _thinking(thinking: Any, path: Path, value: Any) -> Fate:
    """Signed thinking stays for the way home; readable thinking that nobody signed has no place in this API."""
    if value in (None, {}, [], ""):
        return CONVERTED
    match path:
        case (_, "items", int(index), *_):
            is_closed = is_sealed(thinking["items"][index])
        case _:
            items = thinking.get("items") if isinstance(thinking, dict) else None
            is_closed = isinstance(thinking, dict) and (thinking.get("encrypted") is True or any(map(is_sealed, items or [])))
    return SEALED if is_closed else UNSIGNED_THINKING
