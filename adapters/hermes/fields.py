"""Where each column of a live row, and of the session, goes. What no table names is kept for the way home, and reported.

The tables are the source of the field list in the documentation.
"""

from collections.abc import Mapping
from typing import Any

from adapters.conversion import Json
from adapters.leaves import CONVERTED, Fate, Path, account, leaves, nearest, path_name
from adapters.report import Report
from adapters.said import Unsaid

ROW_FIELDS: Mapping[str, str] = {
    "role": "role",
    "content": "content",
    "tool_call_id": "tool_call_id",
    "timestamp": "created_at",
    "reasoning": "thinking.items[].text",
    "reasoning_content": "thinking.items[].text",
    "reasoning_details": "thinking.items[]",
    "codex_reasoning_items": "thinking.items[]",
    "finish_reason": "metadata.status",
    "session_id": "meta.native_session_id",
    "active": "a message for each live row, in their order",
    "compacted": "a message for each live row, in their order",
}
CALL_FIELDS: Mapping[str, str] = {
    "id": "tool_calls[].id",
    "type": "tool_calls[].type",
    "function.name": "tool_calls[].function.name",
    "function.arguments": "tool_calls[].function.arguments",
}
SESSION_FIELDS: Mapping[str, str] = {
    "id": "meta.native_session_id",
    "title": "meta.title",
    "cwd": "meta.cwd",
    "git_branch": "meta.git_branch",
    "model": "meta.model",
    "source": "meta.source",
    "parent_session_id": "meta.subagent, meta.forked_from or meta.continues",
}
# Kept for the way home, each with the reason.
KEPT: Mapping[str, str] = {
    "id": "the row's number in its own database",
    "tool_name": "the call that it answers names the tool",
    "api_content": "what was sent in the content's place: with memories in it; never shown",
    "codex_message_items": "OpenAI's own items of the reply: they open only where they came from",
    "observed": "about where it came from",
    "platform_message_id": "about where it came from",
    "system_prompt": "another agent's system prompt is not live elsewhere",
}
# Columns that say something in rows of one role alone.
OF_ROLE: Mapping[str, str] = {
    "tool_call_id": "tool",
    "tool_calls": "assistant",
    "finish_reason": "assistant",
    "reasoning": "assistant",
    "reasoning_content": "assistant",
    "reasoning_details": "assistant",
    "codex_reasoning_items": "assistant",
}
NO_FIELD = "no standard field"
OTHER_ROLE = "no standard field in a message of this role"
_call_steps = [tuple(name.split(".")) for name in CALL_FIELDS]


def account_row(report: Report, row: Json, example: str, unsaid: Unsaid) -> None:
    """Count every leaf of a live row."""

    def fate(path: Path, value: Any) -> Fate:
        why = nearest(unsaid, path)
        if why is not None:
            return Fate("kept_native", why)
        if value is not None and OF_ROLE.get(str(path[0]), row["role"]) != row["role"]:
            return Fate("kept_native", OTHER_ROLE)
        if value is None or path[0] in ROW_FIELDS or (path[0] == "observed" and not _is_set(value)):
            return CONVERTED
        if path[0] == "tool_calls" and (len(path) == 1 or any(path[2:][: len(steps)] == steps for steps in _call_steps)):
            return CONVERTED
        return Fate("kept_native", KEPT.get(str(path[0]), NO_FIELD))

    account(report, row, fate, example)


def account_dead(report: Report, row: Any, reason: str, example: str) -> None:
    """Count a row that is no message: all of it is kept."""
    role = row.get("role") if isinstance(row, dict) else None
    name = role[:40] if isinstance(role, str) and role else "unknown"
    report.found("rows")
    report.note("kept_native", f"rows/{name}", reason, example)
    count = sum(1 for _ in leaves(row))
    report.found("fields", count)
    report.note("kept_native", f"fields/{name}", reason, example, count)


def account_session(report: Report, columns: Json, said: set[str]) -> None:
    """Count every leaf of what is no row; `said` are the columns that the meta says."""
    for path, value in leaves(columns) if columns else ():
        report.found("session")
        if value is None or path[0] in said:
            report.converted("session")
        else:
            report.note("kept_native", f"session/{path_name(path)}", KEPT.get(str(path[0]), NO_FIELD), "session")


def _is_set(value: Any) -> bool:
    return not (value is False or getattr(value, "text", value) in ("0", 0))
