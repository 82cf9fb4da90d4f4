"""Where each field of a line goes. What no table names is kept for the way home, and reported.

The tables are the source of the field list in the documentation.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.codex.records import Line, replaced_by, says
from adapters.conversion import Json
from adapters.leaves import Path, leaves, nearest, path_name, path_of, steps_of
from adapters.report import Report
from adapters.said import Unsaid

LINE_FIELDS: Mapping[str, str] = {
    "timestamp": "created_at",
    "type": "a message for each live item, in their order: metadata.native_id; of a reply metadata.reply_id",
}
_TEXT: Mapping[str, str] = {
    "content": "content",
    "content[].type": "content[].type",
    "content[].text": "content[].text",
    "content[].image_url": "content[].image_url",
    "content[].detail": "content[].image_url.detail",
}
_RESULT: Mapping[str, str] = {
    "type": "role",
    "call_id": "tool_call_id",
    "output": "content",
    "output.content": "content",
    "output.success": "metadata.is_error",
    **{f"output[].{name.removeprefix('content[].')}": target for name, target in _TEXT.items() if "[]" in name},
    **{f"output.{name}": target for name, target in _TEXT.items() if "[]" in name},
}
_SEALED: Mapping[str, str] = {
    "type": "thinking",
    "id": "thinking.items[].id",
    "encrypted_content": "thinking.items[].data",
    "status": "metadata.status",
}
# Fields of a response item, by its type.
ITEM_FIELDS: Mapping[str, Mapping[str, str]] = {
    "message": {"type": "role", "role": "role, metadata.origin", "status": "metadata.status", **_TEXT},
    "agent_message": {"type": "role", **_TEXT},
    "reasoning": {
        **_SEALED,
        "summary[].type": "thinking",
        "summary[].text": "thinking.items[].text",
        "content[].type": "thinking",
        "content[].text": "thinking.items[].text",
    },
    **dict.fromkeys(("compaction", "compaction_summary", "context_compaction"), _SEALED),
    "function_call": {
        "type": "tool_calls[].type",
        "call_id": "tool_calls[].id",
        "name": "tool_calls[].function.name",
        "arguments": "tool_calls[].function.arguments",
        "status": "metadata.status",
    },
    "custom_tool_call": {
        "type": "tool_calls[].type",
        "call_id": "tool_calls[].id",
        "name": "tool_calls[].function.name",
        "input": "tool_calls[].function.arguments",
        "status": "metadata.status",
    },
    "local_shell_call": {
        "type": "tool_calls[].type",
        "call_id": "tool_calls[].id",
        "action": "tool_calls[].function.arguments",
        "status": "metadata.status",
    },
    "tool_search_call": {
        "type": "tool_calls[].type",
        "call_id": "tool_calls[].id",
        "arguments": "tool_calls[].function.arguments",
        "status": "metadata.status",
    },
    "function_call_output": _RESULT,
    "custom_tool_call_output": _RESULT,
    "tool_search_output": {"type": "role", "call_id": "tool_call_id", "tools": "content"},
}
SESSION_FIELDS: Mapping[str, str] = {
    "id": "meta.native_session_id",
    "cwd": "meta.cwd",
    "cli_version": "meta.agent_version",
    "model_provider": "meta.provider",
    "source": "meta.source, meta.subagent",
    "forked_from_id": "meta.forked_from",
    "git.branch": "meta.git_branch",
}
TURN_FIELDS: Mapping[str, str] = {"model": "metadata.model, meta.model"}
COMPACTED_FIELDS: Mapping[str, str] = {
    "replacement_history": "messages, the first with metadata.compaction",
    "message": "content, where there is no replacement_history",
}
# Lines that are no message, each with the reason why they are kept for the way home alone.
KEPT_LINES: Mapping[str, str] = {
    "session_meta": "about the session; the meta says what others can use",
    "turn_context": "the settings of a turn; the model's name is in the messages after it",
    "event_msg": "shows once more what the items say, or tells of the run",
    "token_usage_record": "what a reply cost, told after it: a message that is in the log does not change",
    "world_state": "what this agent told its model of its surroundings",
    "response_item": "an item that no message can hold, or that Codex itself could not read",
    "compacted": "stands for what was said before, and holds nothing that a message can say",
}
# Fields of live lines that are kept for the way home, each with the reason.
KEPT: Mapping[str, str] = {
    "ordinal": "the line's number in its own file",
    "metadata": "the harness's own notes",
    "payload.id": "the item's id at its provider",
    "payload.phase": "which part of the reply it is, in this agent's words",
    "payload.internal_chat_message_metadata_passthrough": "the harness's own notes",
    "payload.namespace": "whose tool it is, in this agent's words",
}
NO_FIELD = "no standard field"
NOT_LIVE = "an item of a replaced history that is no message"


def account_line(report: Report, line: Line, items: Sequence[tuple[Path, Json]], unsaid: Unsaid) -> None:
    """Count every leaf of a live line; `items` are those of it that are messages, each with its place."""
    where, kind = f"line {line.number}", line.kind
    for path, value in leaves(line.parsed.value):
        report.found("fields")
        why = _why(line, path, value, items, unsaid)
        if why is None:
            report.converted("fields")
        else:
            report.note("kept_native", f"fields/{kind}.{path_name(path)}", why, where)


def account_kept(report: Report, line: Line, why: str, said: frozenset[Path] = frozenset()) -> None:
    """Count a line that is no message, and every leaf of it; `said` are places in the payload that the meta says."""
    where = f"line {line.number}"
    report.found("lines")
    report.note("kept_native", f"lines/{line.kind}", why, where)
    if line.parsed.problem:
        return
    paths = [path for path, _ in leaves(line.parsed.value)]
    told = sum(any(path[len(line.at) :][: len(place)] == place for place in said) for path in paths) if said else 0
    report.found("fields", len(paths))
    report.converted("fields", told)
    if len(paths) > told:
        report.note("kept_native", f"fields/{line.kind}", why, where, len(paths) - told)


def why_kept(line: Line) -> str:
    """Why a line that no rule made dead is no message."""
    return line.parsed.problem or KEPT_LINES.get(line.type, "a line of a kind that says nothing to the model")


def is_message_line(line: Line) -> bool:
    """Does the line hold an item that is a message, live or not?"""
    if line.type == "compacted" and line.payload is not None:
        return any(says(item) for item, _ in replaced_by(line.payload))
    return line.type == "response_item" and says(line.payload) is not None


def _why(line: Line, path: Path, value: Any, items: Sequence[tuple[Path, Json]], unsaid: Unsaid) -> str | None:
    """Why the messages of the line do not say a leaf; None for one that they do."""
    noted = nearest(unsaid, path)
    if noted is not None:
        return noted
    steps = steps_of(path)
    for at, item in items:
        if path[: len(at)] == at and (at or path[:1] not in _line):
            rest = steps[len(at) :]
            known = _items.get(str(item.get("type")), {})
            if value in (None, [], {}) or any(rest[:depth] in known for depth in _depths(rest, known)) or not rest:
                return None
            return _kept.get(("payload", *rest[:1])) or NO_FIELD
    if steps in _line or value in (None, [], {}):
        return None
    if line.type == "compacted" and path[: len(line.at)] == line.at:
        return NOT_LIVE if path[len(line.at) :][:1] == ("replacement_history",) else NO_FIELD
    return _kept.get(steps[:1]) or NO_FIELD


def _depths(rest: Path, known: Mapping[Path, str]) -> range:
    """How much of a path a table may name: all of it, or less where the message holds the value as JSON."""
    return range(1 if rest[:1] in _WHOLE and rest[:1] in known else len(rest), len(rest) + 1)


_line = frozenset(map(path_of, LINE_FIELDS))
_items = {kind: {path_of(name): target for name, target in fields.items()} for kind, fields in ITEM_FIELDS.items()}
_kept = {path_of(name): reason for name, reason in KEPT.items()}
_WHOLE = frozenset({("action",), ("arguments",), ("tools",)})
