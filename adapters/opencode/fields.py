"""Where each field of an export document goes. What no table names stays in the native record, and the report says so.

The tables are the source of the field list in the documentation; `account` counts every leaf by them.
"""

from collections.abc import Mapping
from typing import Any

from adapters.leaves import Path, leaves, path_name
from adapters.opencode.records import info_of
from adapters.report import Report
from adapters.said import Unsaid

SESSION_FIELDS: Mapping[str, str] = {
    "id": "meta.native_session_id",
    "title": "meta.title",
    "directory": "meta.cwd",
    "version": "meta.agent_version",
    "parentID": "meta.subagent.parent_session_id",
    "agent": "meta.agent_name",
}
INFO_FIELDS: Mapping[str, str] = {
    "id": "metadata.native_id",
    "sessionID": "the session it is in",
    "role": "role",
    "time.created": "created_at",
}
ASSISTANT_FIELDS: Mapping[str, str] = {
    "parentID": "metadata.parent_id",
    "providerID": "metadata.provider",
    "modelID": "metadata.model",
    "finish": "metadata.status",
    "summary": "metadata.compaction",
    "tokens.input": "metadata.usage.input_tokens",
    "tokens.output": "metadata.usage.output_tokens",
    "tokens.reasoning": "metadata.usage.reasoning_tokens",
    "tokens.cache.read": "metadata.usage.cache_read_input_tokens",
    "tokens.cache.write": "metadata.usage.cache_creation_input_tokens",
    "error.name": "metadata.status",
}
PART_FIELDS: Mapping[str, Mapping[str, str]] = {
    "text": {"text": "content", "synthetic": "metadata.origin", "ignored": "metadata.origin"},
    "file": {"mime": "content[].image_url", "url": "content[].image_url", "filename": "content[].file.filename"},
    "reasoning": {
        "text": "thinking.items[].text",
        "metadata.anthropic.signature": "thinking.items[].signature",
        "metadata.anthropic.redactedData": "thinking.items[].data",
        "metadata.openai.itemId": "thinking.items[].id",
        "metadata.openai.reasoningEncryptedContent": "thinking.items[].data",
    },
    "tool": {
        "callID": "tool_calls[].id",
        "tool": "tool_calls[].function.name",
        "state.status": "metadata.status",
        "state.input": "tool_calls[].function.arguments",
        "state.raw": "tool_calls[].function.arguments",
        "state.output": "content",
        "state.error": "content",
        "state.time.end": "created_at",
        "state.metadata.interrupted": "metadata.status",
        "state.attachments[].type": "content[].type",
        "state.attachments[].mime": "content[].image_url",
        "state.attachments[].url": "content[].image_url",
        "state.attachments[].filename": "content[].file.filename",
    },
    "compaction": {"auto": "metadata.compaction.trigger", "tail_start_id": "metadata.compaction.tail_start_id"},
}
EVERY_PART: Mapping[str, str] = {"type": "content[].type", "messageID": "the message it is in", "sessionID": "the session it is in"}
BOOKKEEPING = ("step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry")
NO_FIELD = "no standard field"


def account(report: Report, record: Any, where: str, unsaid: Unsaid) -> None:
    """Count every leaf of a live message: converted, or kept in the native record with the reason."""
    role = str(info_of(record)["role"])
    info_table = INFO_FIELDS if role == "user" else {**INFO_FIELDS, **ASSISTANT_FIELDS}
    for path, _ in leaves(record):
        report.found("fields")
        reason = _covered(path, unsaid)
        name, table = _place(record, path, role, info_table)
        if reason or not _is_named(path, table):
            report.note("kept_native", f"fields/{name}", reason or NO_FIELD, where)
        else:
            report.converted("fields")


def account_kept(report: Report, value: Any, name: str, reason: str, where: str) -> None:
    """Count every leaf of what is kept whole."""
    count = sum(1 for _ in leaves(value))
    report.found("fields", count)
    report.note("kept_native", f"fields/{name}", reason, where, count)


def account_session(report: Report, document: Any, meta_says: set[str]) -> None:
    """Count every leaf of the document but its messages."""
    for path, _ in leaves(document):
        report.found("fields")
        if len(path) == 2 and path[0] == "info" and path[1] in meta_says:
            report.converted("fields")
        else:
            report.note("kept_native", f"fields/session.{path_name(path)}", NO_FIELD, "session")


def _place(record: Any, path: Path, role: str, info_table: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """How the report names a leaf, and the table that tells of it."""
    if path[0] == "info":
        return f"{role}.info.{path_name(path[1:])}", info_table
    if path[0] != "parts" or len(path) < 2:
        return f"{role}.{path_name(path)}", {}
    index = path[1]
    part = record["parts"][index] if isinstance(index, int) else None
    kind = part.get("type") if isinstance(part, dict) else None
    known = kind if isinstance(kind, str) and kind in (*PART_FIELDS, *BOOKKEEPING) else ""
    return f"{known or 'part'}.{path_name(path[2:])}", {**EVERY_PART, **PART_FIELDS.get(known, {})}


def _is_named(path: Path, table: Mapping[str, str]) -> bool:
    """Does the table name the leaf, or something that holds it?"""
    steps = path[1:] if path[0] == "info" else path[2:]
    name = ""
    for step in steps:
        name += "[]" if isinstance(step, int) else ("." if name else "") + step
        if name in table:
            return True
    return False


def _covered(path: Path, unsaid: Unsaid) -> str:
    return next((unsaid[path[:size]] for size in range(1, len(path) + 1) if path[:size] in unsaid), "")
