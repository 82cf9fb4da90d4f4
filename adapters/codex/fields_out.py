"""What becomes of each field of a message that another agent wrote: the place in a line for each that has one."""

from collections.abc import Mapping
from typing import Any

from adapters import fates_out
from adapters.conversion import Json
from adapters.fates_out import HUBS_OWN
from adapters.leaves import CONVERTED, Fate, Path
from adapters.tables_out import Tables, of_thinking

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
SUMMARY: Mapping[str, str] = {
    "metadata.compaction": "type compacted: it replaces all before",
    "metadata.reply_id": ASSISTANT["metadata.reply_id"],
}
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
SHOWN = Fate("degraded", "shown, but not sent to the model: its API takes only thinking that it sealed itself")
NO_MARK = Fate("degraded", "a result has no mark for a failure: what the tool said has to tell")


def _thinking(message: Json, path: Path, value: Any) -> Fate:
    return of_thinking(message, path, value, is_written=message["role"] == "assistant", said=SHOWN)


def _told(message: Json, path: Path, value: Any) -> Fate | None:
    role = message["role"]
    match path:
        case ("metadata", "status") if role in ("assistant", "tool") and value == "complete":
            return CONVERTED
        case ("metadata", "is_error") if role == "tool" and isinstance(value, bool):
            return NO_MARK if value else CONVERTED
        case ("metadata", "status") if role == "tool" and value == "error":
            return NO_MARK
    return None


fate_of = Tables(WRITTEN, PARTS, {"assistant": ASSISTANT, "tool": TOOL, "summary": SUMMARY}, STAYS, _thinking, _told).fate_of
