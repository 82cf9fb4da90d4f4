"""Where each field of a live record goes, and of the session. What no table names is kept for the way home, and reported.

The tables are the source of the field list in the documentation.
"""

from collections.abc import Mapping
from typing import Any

from adapters.conversion import Json
from adapters.gemini.records import kind_of
from adapters.leaves import Path, leaves, nearest, path_name, path_of, steps_of
from adapters.report import Report
from adapters.said import Unsaid

RECORD_FIELDS: Mapping[str, str] = {
    "id": "metadata.native_id, of a reply metadata.reply_id",
    "type": "role",
    "timestamp": "created_at",
    "content": "content",
    "model": "metadata.model",
    "thoughts[].subject": "thinking.items[].text",
    "thoughts[].description": "thinking.items[].text",
    "tokens.input": "metadata.usage.input_tokens: less what was read from a cache",
    "tokens.output": "metadata.usage.output_tokens",
    "tokens.cached": "metadata.usage.cache_read_input_tokens",
    "tokens.thoughts": "metadata.usage.reasoning_tokens",
}
CALL_FIELDS: Mapping[str, str] = {
    "id": "tool_calls[].id",
    "name": "tool_calls[].function.name",
    "args": "tool_calls[].function.arguments",
    "result": "content, of a message of role tool",
    "status": "metadata.is_error, metadata.status",
    "agentId": "metadata.subagent.agent_id",
}
# Of a content, and of a result.
PART_FIELDS: Mapping[str, str] = {
    "text": "content[].text, or thinking.items[].text of a thought",
    "thought": "thinking.items[]",
    "inlineData.mimeType": "content[].image_url, content[].input_audio or content[].file",
    "inlineData.data": "content[].image_url.url, content[].input_audio.data or content[].file.file_data",
    "inlineData.displayName": "content[].file.filename",
    "fileData.fileUri": "content[].image_url.url",
    "functionCall.id": "tool_calls[].id",
    "functionCall.name": "tool_calls[].function.name",
    "functionCall.args": "tool_calls[].function.arguments",
    "functionResponse.id": "tool_call_id",
    "functionResponse.name": "the name of the call it answers",
    "functionResponse.response": "content",
    "functionResponse.parts": "content[]",
}
# Of the header, and of what `$set` sets.
SESSION_FIELDS: Mapping[str, str] = {
    "sessionId": "meta.native_session_id",
    "summary": "meta.title",
    "kind": "meta.subagent",
}
# Kept for the way home, each with the reason.
KEPT: Mapping[str, str] = {
    "displayContent": "what the screen shows of it",
    "thoughts[].timestamp": "the reply's own time is told",
    "tokens.tool": "no standard count",
    "tokens.total": "the sum of the other counts",
    "toolCalls[].timestamp": "the reply's own time is told",
    "toolCalls[].resultDisplay": "what the screen shows of the result",
    "toolCalls[].displayName": "what the screen shows of the call",
    "toolCalls[].description": "what the screen shows of the call",
    "toolCalls[].renderOutputAsMarkdown": "what the screen shows of the result",
}
NO_FIELD = "no standard field"
STATE = "the session's own state"


def account_record(report: Report, record: Json, example: str, unsaid: Unsaid) -> None:
    """Count every leaf of the record that tells a live message."""
    for path, value in leaves(record):
        report.found("fields")
        why = nearest(unsaid, path)
        if why is None and (value is None or _is_said(path)):
            report.converted("fields")
        else:
            steps = steps_of(path)
            reason = why or next((_kept[steps[:depth]] for depth in range(len(steps), 0, -1) if steps[:depth] in _kept), NO_FIELD)
            report.note("kept_native", f"fields/{_kind(record)}.{path_name(path)}", reason, example)


def account_kept(report: Report, value: Any, kind: str, reason: str, example: str) -> None:
    """Count the leaves of what is no message: all of it is kept."""
    count = sum(1 for _ in leaves(value))
    report.found("fields", count)
    report.note("kept_native", f"fields/{kind}", reason, example, count)


def account_state(report: Report, record: Json, meta: Json, example: str) -> None:
    """Count the leaves of a header, or of a `$set`, less the messages in it."""
    kind = kind_of(record)
    depth = 1 if kind == "$set" else 0
    said = {"sessionId": meta.get("native_session_id"), "summary": meta.get("title")}
    for path, value in leaves(record):
        name = str(path[depth]) if len(path) > depth else ""
        if name == "messages" and len(path) > depth + 1 and isinstance(path[depth + 1], int) and (not depth or path[0] == "$set"):
            continue
        report.found("fields")
        is_kind = name == "kind" and value == ("subagent" if "subagent" in meta else "main")
        if value is None or is_kind or (name in said and said[name] == value):
            report.converted("fields")
        else:
            report.note("kept_native", f"fields/{kind}.{path_name(path[depth:])}", STATE, example)


def _kind(record: Json) -> str:
    kind = record.get("type")
    return kind[:40] if isinstance(kind, str) and kind else "untyped"


def _is_said(path: Path) -> bool:
    steps = steps_of(path)
    match steps:
        case ("content", *rest) if rest:
            return _begins(tuple(rest[1:] if rest[0] == "[]" else rest), _parts) or rest == ["[]"]
        case ("toolCalls", "[]", "result", *rest) if rest:
            return _begins(tuple(rest[1:] if rest[0] == "[]" else rest), _parts) or rest == ["[]"]
        case ("toolCalls", "[]", *rest):
            return _begins(tuple(rest), _calls)
        case ("toolCalls",) | ("thoughts",):
            return True
    return _begins(steps, _fields)


def _begins(steps: Path, table: frozenset[Path]) -> bool:
    return any(steps[:depth] in table for depth in range(len(steps), 0, -1))


_fields = frozenset(map(path_of, RECORD_FIELDS))
_calls = frozenset(map(path_of, CALL_FIELDS))
_parts = frozenset(map(path_of, PART_FIELDS))
_kept = {path_of(name): reason for name, reason in KEPT.items()}
