"""What becomes of each field of a message that another agent wrote: the place in a record for each that has one."""

from collections.abc import Mapping
from typing import Any

from adapters import fates_out
from adapters.conversion import Json
from adapters.fates_out import kind_of
from adapters.gemini.records_out import whole
from adapters.leaves import CONVERTED, Fate, Path
from adapters.tables_out import Tables, of_thinking

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


def _thinking(message: Json, path: Path, value: Any) -> Fate:
    return of_thinking(message, path, value, is_written=kind_of(message) == "assistant")


def _told(message: Json, path: Path, value: Any) -> Fate | None:
    kind = kind_of(message)
    match path:
        case ("metadata", "status") if value in STATUS.get(kind, ()):
            return CONVERTED
        case ("metadata", "is_error") if kind == "tool" and isinstance(value, bool):
            return CONVERTED
        case ("metadata", "model") if kind == "assistant" and isinstance(value, str) and value:
            return CONVERTED
        case ("metadata", "usage", str(name)) if kind == "assistant" and name in USAGE and whole(value) is not None:
            return CONVERTED
    return None


fate_of = Tables(WRITTEN, PARTS, {"assistant": ASSISTANT, "tool": TOOL, "summary": SUMMARY}, STAYS, _thinking, _told).fate_of
