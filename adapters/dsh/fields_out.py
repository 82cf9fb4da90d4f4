"""What becomes of each field of a message that is written anew: the place in an event for each that has one."""

from collections.abc import Mapping
from typing import Any

from adapters import fates_out
from adapters.conversion import Json
from adapters.fates_out import kind_of
from adapters.leaves import CONVERTED, Fate, Path
from adapters.tables_out import Tables, of_thinking

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
# What a status says by other means.
STATUS: Mapping[str, tuple[str, ...]] = {"assistant": ("complete", "interrupted"), "tool": ("complete", "error")}
STAYS: Mapping[str, str] = {
    **fates_out.STAYS,
    "metadata.compaction": "about where it came from",
    "metadata.subagent": "about where it came from; the link stands in the sub-agent's header",
    "metadata.origin": "told by what the event is",
}
BLANK = Fate("dropped", "nothing but blanks")


def _thinking(message: Json, path: Path, value: Any) -> Fate:
    fate = of_thinking(message, path, value, is_written=kind_of(message) == "assistant")
    is_alone = path[-1] == "text" or (path[1:] == ("content",) and not message["thinking"].get("items"))
    return BLANK if fate == CONVERTED and is_alone and isinstance(value, str) and value.isspace() else fate


def _told(message: Json, path: Path, value: Any) -> Fate | None:
    return CONVERTED if path == ("metadata", "status") and value in STATUS.get(message["role"], ()) else None


fate_of = Tables(WRITTEN, PARTS, {"assistant": ASSISTANT, "tool": TOOL, "summary": SUMMARY}, STAYS, _thinking, _told).fate_of
