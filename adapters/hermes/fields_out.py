"""What becomes of each field of a message that another agent wrote: the place in a row for each that has one."""

from collections.abc import Mapping
from typing import Any

from adapters import fates_out
from adapters.conversion import Json
from adapters.fates_out import HUBS_OWN
from adapters.leaves import CONVERTED, Fate, Path
from adapters.tables_out import Tables, of_thinking

WRITTEN: Mapping[str, str] = {
    "role": "role",
    "content": "content",
    "created_at": "timestamp",
}
# Parts of a content, by their type.
PARTS: Mapping[str, Mapping[str, str]] = {
    "text": {"text": "content[].text"},
    "image_url": {"image_url.url": "content[].image_url.url", "image_url.detail": "content[].image_url.detail"},
}
ASSISTANT: Mapping[str, str] = {
    "tool_calls[].id": "tool_calls[].id",
    "tool_calls[].type": "tool_calls[].type",
    "tool_calls[].function.name": "tool_calls[].function.name",
    "tool_calls[].function.arguments": "tool_calls[].function.arguments",
    "metadata.reply_id": "neighbours of one reply are one row",
}
TOOL: Mapping[str, str] = {"tool_call_id": "tool_call_id"}
SUMMARY: Mapping[str, str] = {
    "metadata.compaction": "the rows before it are marked as compacted",
    "metadata.reply_id": ASSISTANT["metadata.reply_id"],
}
# Added up in the session's columns: a row has none for them.
USAGE: Mapping[str, str] = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}
STAYS: Mapping[str, str] = {
    **fates_out.STAYS,
    "append_id": HUBS_OWN.reason,
    "metadata.model": "about where it came from; another model goes on",
    "metadata.compaction": "about where it came from",
    "metadata.subagent": "about where it came from; the link stands in the sub-agent's session",
    "metadata.origin": "told by what the row is",
}
ADDED_UP = Fate("degraded", "added up over the session: a row has no place for it")
NO_MARK = Fate("degraded", "a row has no mark for a failure: what the tool said has to tell")


def _thinking(message: Json, path: Path, value: Any) -> Fate:
    return of_thinking(message, path, value, is_written=message["role"] == "assistant")


def _told(message: Json, path: Path, value: Any) -> Fate | None:
    role = message["role"]
    match path:
        case ("metadata", "status") if value == {"assistant": "complete"}.get(role):
            return CONVERTED
        case ("metadata", "is_error") if role == "tool" and isinstance(value, bool):
            return NO_MARK if value else CONVERTED
        case ("metadata", "status") if role == "tool" and value == "error":
            return NO_MARK
        case ("metadata", "usage", str(name)) if role == "assistant" and name in USAGE:
            return ADDED_UP
    return None


fate_of = Tables(WRITTEN, PARTS, {"assistant": ASSISTANT, "tool": TOOL, "summary": SUMMARY}, STAYS, _thinking, _told).fate_of
