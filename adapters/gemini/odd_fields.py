"""Fields that the tables say are converted, but whose value in this record no message says: named with the reason."""

from collections.abc import Mapping
from typing import Any

from adapters.conversion import Json
from adapters.gemini.parts import MODEL_ONLY, NOT_TEXT
from adapters.said import Unsaid

_of_model = ("model", "thoughts", "tokens", "toolCalls")
_containers: Mapping[str, Any] = {"thoughts": list, "tokens": dict, "toolCalls": list}


def note_odd_fields(record: Json, has_time: bool, unsaid: Unsaid) -> None:
    """Add to `unsaid`."""
    if record.get("timestamp") is not None and not has_time:
        unsaid["timestamp",] = "no RFC 3339 time"
    is_model = record.get("type") == "gemini"
    for name in _of_model:
        value = record.get(name)
        if value is None:
            continue
        if not is_model:
            unsaid[name,] = MODEL_ONLY
        elif not isinstance(value, _containers.get(name, str)):
            unsaid[name,] = NOT_TEXT
    content = record.get("content")
    if not isinstance(content, str | list | dict | None):
        unsaid["content",] = "neither a text nor parts"
    if is_model and isinstance(record.get("thoughts"), list):
        _note_thoughts(record["thoughts"], unsaid)


def _note_thoughts(thoughts: list[Any], unsaid: Unsaid) -> None:
    for at, thought in enumerate(thoughts):
        if not isinstance(thought, dict):
            unsaid["thoughts", at] = NOT_TEXT
            continue
        for name in ("subject", "description"):
            if not isinstance(thought.get(name), str | None):
                unsaid["thoughts", at, name] = NOT_TEXT
