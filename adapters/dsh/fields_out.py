"""What becomes of each field of a message that is written anew. What no table names has no place, and is reported.

The tables are the source of the field list in the documentation.
"""

from collections.abc import Callable, Mapping
from typing import Any

from adapters import fates_out
from adapters.conversion import Json
from adapters.fates_out import NO_PLACE, SEALED, Notes, is_nothing, is_sealed, is_summary, nearest, open_texts, path_of
from adapters.leaves import CONVERTED, Fate, Path

WRITTEN: Mapping[str, str] = {
    "role": "type, data.message.role",
    "content": "data.message.content",
    "created_at": "time",
    "append_id": "data.message.id",
}
# Parts of a content, by their type.
PARTS: Mapping[str, Mapping[str, str]] = {"text": {"text": "data.message.content[].text"}}
ASSISTANT: Mapping[str, str] = {
    "tool_calls[].id": "data.message.content[].id",
    "tool_calls[].type": "data.message.content[].type",
    "tool_calls[].function.name": "data.message.content[].name",
    "tool_calls[].function.arguments": "data.message.content[].arguments",
    "metadata.model": "data.message.source.model",
    "metadata.provider": "data.message.source.provider",
    "metadata.reply_id": "neighbours of one reply are one event",
}
TOOL: Mapping[str, str] = {
    "tool_call_id": "data.message.toolCallId",
    "metadata.is_error": "data.message.isError",
}
SUMMARY: Mapping[str, str] = {"metadata.compaction": "surfaceOp: it stands for all that was on the surface"}
USAGE: Mapping[str, str] = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadTokens",
    "cache_creation_input_tokens": "cacheWriteTokens",
    "reasoning_tokens": "reasoningTokens",
}
STAYS: Mapping[str, str] = {
    **fates_out.STAYS,
    "metadata.compaction": "about where it came from",
    "metadata.subagent": "about where it came from; the link stands in the sub-agent's header",
    "metadata.origin": "told by what the event is",
}
WHOSE = Fate("kept_native", "about where the thinking came from")


def readable(thinking: Any) -> list[str]:
    """The thoughts that nobody signed or encrypted."""
    return [text for text in open_texts(thinking) if text.strip()]


def fate_of(message: Json, notes: Notes) -> Callable[[Path, Any], Fate]:
    """Return the function that tells what becomes of a leaf of this message. `notes` come before the tables."""
    kind = "summary" if is_summary(message) else message["role"]

    def fate(path: Path, value: Any) -> Fate:
        noted = nearest(notes, path)
        if noted is not None:
            return noted
        if path[0] == "thinking":
            is_written = message["role"] == "assistant" and kind != "summary"
            return _thinking(message["thinking"], path, value) if is_written or is_nothing(value) else NO_PLACE
        if path[0] == "content" and len(path) > 1:
            part = message["content"][path[1]]
            return CONVERTED if path[2:] in _parts.get(str(part.get("type")), ()) else NO_PLACE
        steps = tuple("[]" if isinstance(step, int) else step for step in path)
        if steps in _written or steps in _of_kind[kind] or (path[0] in _EMPTY and value in (None, {}, [])):
            return CONVERTED
        if path[0] == "metadata" and len(path) > 1 and _is_status(message["role"], path, value):
            return CONVERTED
        return nearest(_stays, steps) or NO_PLACE

    return fate


def _is_status(role: str, path: Path, value: Any) -> bool:
    return path[1:] == ("status",) and value in {"assistant": ("complete", "interrupted"), "tool": ("complete", "error")}.get(
        role, ()
    )


def _thinking(thinking: Any, path: Path, value: Any) -> Fate:
    if is_nothing(value):
        return CONVERTED
    items = thinking.get("items") if isinstance(thinking, dict) else None
    items = items if isinstance(items, list) else []
    match path:
        case (_, "items", int(index), *rest):
            if is_sealed(items[index]):
                return SEALED
            if rest == ["text"]:
                return CONVERTED if str(value).strip() else Fate("dropped", "nothing but blanks")
            return WHOSE if rest in (["provider"], ["model"], ["id"]) else NO_PLACE
        case (_, "content"):
            is_closed = any(map(is_sealed, items)) or thinking.get("encrypted") is True
            return SEALED if is_closed else CONVERTED if items or str(value).strip() else Fate("dropped", "nothing but blanks")
        case (_, "encrypted"):
            return SEALED if value is True else CONVERTED
    return NO_PLACE


_written = frozenset(map(path_of, WRITTEN))
_parts = {kind: {("type",), *map(path_of, names)} for kind, names in PARTS.items()}
_of_kind: Mapping[str, frozenset[Path]] = {
    "assistant": frozenset(map(path_of, ASSISTANT)),
    "tool": frozenset(map(path_of, TOOL)),
    "summary": frozenset(map(path_of, SUMMARY)),
    "user": frozenset(),
    "system": frozenset(),
}
_stays = {path_of(name): Fate("kept_native", reason) for name, reason in STAYS.items()}
_EMPTY = frozenset({"content", "tool_calls", "metadata", "tool_call_id"})  # nothing in them is nothing to write
