"""Where each field of a live line goes. What no table names stays in the native record, and the report says so.

The tables are the source of the field list in the documentation; `account` counts by them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from adapters.claude_code.blocks import CONTENT
from adapters.conversion import Json
from adapters.leaves import Path
from adapters.report import Report
from adapters.said import Unsaid

RECORD_FIELDS: Mapping[str, str] = {
    "type": "role",
    "uuid": "metadata.native_id",
    "parentUuid": "metadata.parent_id",
    "timestamp": "created_at",
    "version": "native.version",
    "sessionId": "meta.native_session_id",
    "agentId": "metadata.subagent.agent_id",
    "isSidechain": "the session it is in",
    "isMeta": "metadata.origin",
    "isVisibleInTranscriptOnly": "metadata.origin",
    "isCompactSummary": "metadata.compaction",
    "isApiErrorMessage": "metadata.status",
}
MESSAGE_FIELDS: Mapping[str, str] = {
    "role": "role",
    "type": "role",
    "id": "metadata.reply_id",
    "model": "metadata.model",
    "stop_reason": "metadata.status",
}
USAGE_FIELDS: Mapping[str, str] = {
    name: f"metadata.usage.{name}"
    for name in ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
}
BLOCK_FIELDS: Mapping[str, Mapping[str, str]] = {
    "text": {"text": "content"},
    "image": {"source": "content[].image_url"},
    "document": {"source": "content[].file.file_data", "title": "content[].file.filename"},
    "thinking": {"thinking": "thinking.items[].text", "signature": "thinking.items[].signature"},
    "redacted_thinking": {"data": "thinking.items[].data"},
    "tool_use": {
        "id": "tool_calls[].id",
        "name": "tool_calls[].function.name",
        "input": "tool_calls[].function.arguments",
    },
    "tool_result": {"tool_use_id": "tool_call_id", "is_error": "metadata.is_error", "content": "content"},
}
NO_FIELD = "no standard field"


def account(report: Report, record: Json, example: str, unsaid: Unsaid) -> None:
    """Count every field and block of a live line: converted, or kept in the native record with the reason."""
    for unit, path, is_said, reason in _fates(record, unsaid):
        report.found(unit)
        if is_said:
            report.converted(unit)
        else:
            report.note("kept_native", f"{unit}/{record['type']}{path}", reason, example)


def _fates(record: Json, unsaid: Unsaid) -> Iterator[tuple[str, str, bool, str]]:
    message = record.get("message")
    for key in record:
        if key != "message" or not isinstance(message, dict):
            yield _field((key,), key in RECORD_FIELDS, "." + key, unsaid)
    if not isinstance(message, dict):
        return
    for key, value in message.items():
        if key == "usage" and isinstance(value, dict):
            for name in value:
                yield _field(("message", key, name), name in USAGE_FIELDS, f".message.usage.{name}", unsaid)
        elif key != "content":
            yield _field(("message", key), key in MESSAGE_FIELDS, f".message.{key}", unsaid)
    yield from _blocks(message.get("content"), CONTENT, "", unsaid)


def _blocks(content: Any, place: Path, outer: str, unsaid: Unsaid) -> Iterator[tuple[str, str, bool, str]]:
    if isinstance(content, str):
        yield "blocks", f"{outer}.text", place not in unsaid, unsaid.get(place, "")
    elif isinstance(content, list):
        for index, block in enumerate(content):
            yield from _block(block, (*place, index), outer, unsaid)
    elif content is not None:
        yield "blocks", f"{outer}.content", False, "content is neither a string nor a list"


def _block(block: Any, here: Path, outer: str, unsaid: Unsaid) -> Iterator[tuple[str, str, bool, str]]:
    kind = block.get("type") if isinstance(block, dict) else None
    path = f"{outer}.{kind}" if isinstance(kind, str) else f"{outer}.?"
    is_said, why = here not in unsaid, unsaid.get(here, "")
    yield "blocks", path, is_said, why
    if not isinstance(block, dict):
        return
    known = BLOCK_FIELDS.get(str(kind), {}) if is_said else {}
    for key, value in block.items():
        if key == "type" and is_said:
            yield "fields", f"{path}.type", True, ""
        elif key == "content" and kind == "tool_result":
            yield from _blocks(value, (*here, key), path, unsaid)
        else:
            yield _field((*here, key), key in known, f"{path}.{key}", unsaid, why or NO_FIELD)


def _field(place: Path, is_known: bool, path: str, unsaid: Unsaid, why: str = NO_FIELD) -> tuple[str, str, bool, str]:
    return "fields", path, is_known and place not in unsaid, unsaid.get(place, why)
