"""Fields that the tables say are converted, but whose value in this line a message does not say: named with the reason."""

from collections.abc import Sequence
from typing import Any

from adapters.claude_code.records import Line
from adapters.conversion import Json
from adapters.said import Unsaid

NOT_TEXT = "not a text"
NOT_FLAG = "neither true nor false"
NOT_HERE = "nothing that a line of this kind says"

_texts = ("parentUuid", "version", "sessionId", "agentId")
_flags = ("isSidechain", "isMeta", "isVisibleInTranscriptOnly", "isCompactSummary", "isApiErrorMessage")
_of_user = ("isMeta", "isVisibleInTranscriptOnly", "isCompactSummary")


def note_odd_fields(line: Line, record: Json, session_id: str, is_subagent: bool, roles: Sequence[str], unsaid: Unsaid) -> None:
    """Add to `unsaid`; `roles` are those of the messages that the line makes."""
    for key in _texts:
        if not isinstance(record.get(key), str | None):
            unsaid.setdefault((key,), NOT_TEXT)
    for key in _flags:
        if not isinstance(record.get(key), bool | None):
            unsaid.setdefault((key,), NOT_FLAG)
    unspoken = (*(() if "user" in roles else _of_user), *(() if line.type == "assistant" else ("isApiErrorMessage",)))
    for key in unspoken:
        if record.get(key):
            unsaid.setdefault((key,), NOT_HERE)
    if record.get("agentId") and not is_subagent:
        unsaid.setdefault(("agentId",), NOT_HERE)
    if record.get("sessionId") not in (None, session_id):
        unsaid.setdefault(("sessionId",), "the line names another session than the first one did")
    message = record.get("message")
    if isinstance(message, dict):
        _note_odd_message(line, message, unsaid)


def _note_odd_message(line: Line, message: Json, unsaid: Unsaid) -> None:
    expected: dict[str, Any] = {"role": line.type, "type": "message"}
    for key, value in expected.items():
        if key in message and message[key] != value:
            unsaid.setdefault(("message", key), "not what a line of this kind says")
    for key in ("id", "model", "stop_reason"):
        if line.type != "assistant" and message.get(key) is not None:
            unsaid.setdefault(("message", key), NOT_HERE)
        elif not isinstance(message.get(key), str | None):
            unsaid.setdefault(("message", key), NOT_TEXT)
    usage = message.get("usage")
    if line.type != "assistant" and isinstance(usage, dict):
        unsaid.update({("message", "usage", name): NOT_HERE for name in usage})
