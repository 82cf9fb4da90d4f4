"""What becomes of each field of a message that another agent wrote. What no table names has no place, and is reported.

The tables are the source of the field list in the documentation.
"""

from collections.abc import Callable, Mapping
from typing import Any

from adapters import fates_out
from adapters.conversion import Json
from adapters.fates_out import NO_PLACE, SEALED, Notes, is_nothing, is_sealed, is_summary, nearest, open_texts, path_of
from adapters.gemini.records_out import whole
from adapters.leaves import CONVERTED, Fate, Path

WRITTEN: Mapping[str, str] = {
    "role": "type",
    "append_id": "id",
    "created_at": "timestamp",
    "content": "content",
}
# Parts of a content, by their type.
PARTS: Mapping[str, Mapping[str, str]] = {
    "text": {"text": "content[].text"},
    "image_url": {"image_url.url": "content[].inlineData"},
    "file": {"file.file_data": "content[].inlineData"},
    "input_audio": {"input_audio.data": "content[].inlineData.data", "input_audio.format": "content[].inlineData.mimeType"},
}
ASSISTANT: Mapping[str, str] = {
    "tool_calls[].id": "toolCalls[].id",
    "tool_calls[].type": "toolCalls[]",
    "tool_calls[].function.name": "toolCalls[].name",
    "tool_calls[].function.arguments": "toolCalls[].args",
}
TOOL: Mapping[str, str] = {
    "tool_call_id": "toolCalls[].result[].functionResponse.id",
}
SUMMARY: Mapping[str, str] = {"metadata.compaction": "the list of messages is set anew, beginning with it"}
USAGE: Mapping[str, str] = {
    "input_tokens": "tokens.input, with what was read from a cache",
    "output_tokens": "tokens.output",
    "cache_read_input_tokens": "tokens.cached",
    "cache_creation_input_tokens": "tokens.input",
    "reasoning_tokens": "tokens.thoughts",
}
# What a status says by other means.
STATUS: Mapping[str, tuple[str, ...]] = {"assistant": ("complete",), "tool": ("error", "interrupted")}
STAYS: Mapping[str, str] = {
    **fates_out.STAYS,
    "metadata.compaction": "about where it came from",
    "metadata.subagent": "about where it came from; the link stands in the sub-agent's session",
    "metadata.origin": "told by what the record is",
    "metadata.reply_id": "the messages of a reply stay records of their own",
}
WHOSE = Fate("kept_native", "about where the thinking came from")


def readable(thinking: Any) -> list[str]:
    """The thoughts that nobody signed or encrypted."""
    return open_texts(thinking)


def fate_of(message: Json, notes: Notes) -> Callable[[Path, Any], Fate]:
    """Return the function that tells what becomes of a leaf of this message. `notes` come before the tables."""
    kind = "summary" if is_summary(message) else message["role"]

    def fate(path: Path, value: Any) -> Fate:
        noted = nearest(notes, path)
        if noted is not None:
            return noted
        if path[0] == "thinking":
            return _thinking(message["thinking"], path, value) if kind == "assistant" or is_nothing(value) else NO_PLACE
        if path[0] == "content" and len(path) > 1:
            return CONVERTED if path[2:] in _parts.get(str(message["content"][path[1]].get("type")), ()) else NO_PLACE
        steps = tuple("[]" if isinstance(step, int) else step for step in path)
        if steps in _written or steps in _of_kind[kind] or (path[0] in _EMPTY and value in (None, {}, [])):
            return CONVERTED
        if path[0] == "metadata" and len(path) > 1 and (told := _metadata(kind, path, value)):
            return told
        return nearest(_stays, steps) or NO_PLACE

    return fate


def _metadata(kind: str, path: Path, value: Any) -> Fate | None:
    match path[1:]:
        case ("status",) if value in STATUS.get(kind, ()):
            return CONVERTED
        case ("is_error",) if kind == "tool" and isinstance(value, bool):
            return CONVERTED
        case ("model",) if kind == "assistant" and isinstance(value, str) and value:
            return CONVERTED
        case ("usage", str(name)) if kind == "assistant" and name in USAGE and whole(value) is not None:
            return CONVERTED
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
            return CONVERTED if rest == ["text"] else WHOSE if rest in (["provider"], ["model"], ["id"]) else NO_PLACE
        case (_, "content"):
            is_closed = any(map(is_sealed, items)) or thinking.get("encrypted") is True
            return SEALED if is_closed else CONVERTED
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
