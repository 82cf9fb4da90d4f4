"""What becomes of each field of a message that another agent wrote: the place in a line for each that has one."""

from collections.abc import Mapping
from typing import Any

from adapters import fates_out
from adapters.conversion import Json
from adapters.fates_out import SEALED, is_sealed, kind_of
from adapters.leaves import CONVERTED, Fate, Path
from adapters.tables_out import Tables

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


def _thinking(message: Json, path: Path, value: Any) -> Fate:
    """Signed thinking stays for the way home; readable thinking that nobody signed has no place in this API."""
    if value in (None, {}, [], ""):
        return CONVERTED
    thinking = message["thinking"]
    match path:
        case (_, "items", int(index), *_):
            is_closed = is_sealed(thinking["items"][index])
        case _:
            items = thinking.get("items") if isinstance(thinking, dict) else None
            is_closed = isinstance(thinking, dict) and (thinking.get("encrypted") is True or any(map(is_sealed, items or [])))
    return SEALED if is_closed else UNSIGNED_THINKING


def _told(message: Json, path: Path, value: Any) -> Fate | None:
    return CONVERTED if path == ("metadata", "status") and STATUS.get(kind_of(message)) == value else None


fate_of = Tables(WRITTEN, PARTS, {"assistant": ASSISTANT, "tool": TOOL, "summary": SUMMARY}, STAYS, _thinking, _told).fate_of
