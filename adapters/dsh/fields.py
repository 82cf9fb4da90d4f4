"""Where each field of an event of the surface goes. What no table names is kept for the way home, and reported.

The tables are the source of the field list in the documentation. Paths in a message are those of format v4; in older formats
the same fields stand elsewhere in the line (`records.spot_of`).
"""

from collections.abc import Mapping
from typing import Any

from adapters.conversion import Json
from adapters.dsh.messages import ELSEWHERE, NO_PLACE, SEALED_STATE, USAGE
from adapters.dsh.records import Spot, spot_of
from adapters.leaves import Path, leaves, nearest, path_name, path_of, steps_of
from adapters.report import Report
from adapters.said import Unsaid

EVENT_FIELDS: Mapping[str, str] = {
    "type": "role",
    "time": "created_at",
    "seq": "the order of the messages",
    "surfaceOp": "a message for each node of the surface, in its order",
}
MESSAGE_FIELDS: Mapping[str, str] = {
    "role": "role",
    "id": "metadata.native_id",
    "source.kind": "metadata.origin",
}
# Fields that say something in events of one type alone.
TYPE_FIELDS: Mapping[str, Mapping[str, str]] = {
    "assistant/message": {
        "source.model": "metadata.model",
        "source.provider": "thinking.items[].provider",
        "source.replayState.blocks[].signature": "thinking.items[].signature",
        "provenance.model": "metadata.model",
        "provenance.provider": "thinking.items[].provider",
    },
    "tool/result": {"source.callId": "tool_call_id"},
}
RESULT_FIELDS: Mapping[str, str] = {
    "type": "role",
    "toolCallId": "tool_call_id",
    "callId": "tool_call_id",
    "isError": "metadata.is_error, metadata.status",
}
BLOCK_FIELDS: Mapping[str, Mapping[str, str]] = {
    "text": {"text": "content[].text"},
    "image": {"attachment.attachmentId": "content[].image_url.url"},
    "reasoning": {"text": "thinking.items[].text"},
    "tool-call": {
        "id": "tool_calls[].id",
        "name": "tool_calls[].function.name",
        "arguments": "tool_calls[].function.arguments",
    },
}
DATA_FIELDS: Mapping[str, Mapping[str, str]] = {
    "assistant/message": {
        "interrupted": "metadata.status",
        **{f"usage.{name}": f"metadata.usage.{standard}" for name, standard in USAGE.items()},
    },
    "tool/result": {"callId": "tool_call_id", "error.code": "metadata.status"},
}
HEADER_FIELDS: Mapping[str, str] = {
    "type": "the header of a session",
    "version": "native.version",
    "id": "meta.native_session_id",
    "cwd": "meta.cwd",
    "parentSession": "meta.subagent or meta.forked_from",
    "origin": "meta.subagent or meta.forked_from",
}
# Kept for the way home, each with the reason.
KEPT: Mapping[str, str] = {
    "turn": "which turn it stood in",
    "step": "which step of the turn it stood in",
    "stream": "the reply as it arrived, piece by piece",
    "sourceEventSeqs": "which lines it was made from",
    "meta": "the tool's own notes",
    "replayState": SEALED_STATE,
}
NO_FIELD = "no standard field"


def account_event(report: Report, record: Json, example: str, unsaid: Unsaid) -> None:
    """Count every leaf of an event that is a message."""
    spot = spot_of(record)
    assert spot is not None
    for path, value in leaves(record):
        report.found("fields")
        why = nearest(unsaid, path)
        if why is None and _is_said(record["type"], spot, path, value):
            report.converted("fields")
        else:
            report.note("kept_native", f"fields/{record['type']}.{path_name(path)}", why or _reason(spot, path), example)


def account_header(report: Report, header: Json) -> None:
    """Count every leaf of the header."""
    for path, value in leaves(header):
        report.found("session")
        if steps_of(path) in _header and (value or path == ("version",)):
            report.converted("session")
        else:
            report.note("kept_native", f"session/{path_name(path)}", NO_FIELD, "line 1")


def _is_said(kind: str, spot: Spot, path: Path, value: Any) -> bool:
    if path[0] in EVENT_FIELDS:
        return True
    depth = len(spot.content_at)
    if path[:depth] == spot.content_at:
        return len(path) == depth or _is_block_said(spot, path, depth)
    if spot.result and path[:-1] == spot.result_at and path[-1] in RESULT_FIELDS:
        return True
    steps = steps_of(path[len(spot.at) :])
    if path[: len(spot.at)] == spot.at and (steps in _message or steps in _of_type.get(kind, ())):
        return isinstance(value, str)
    return path[0] == "data" and steps_of(path[1:]) in _data.get(kind, ())


def _is_block_said(spot: Spot, path: Path, depth: int) -> bool:
    step = path[depth]
    if len(path) == depth + 1 or not isinstance(step, int):
        return False
    return path[depth + 1 :] in _blocks.get(str(spot.content[step].get("type")), ())


def _reason(spot: Spot, path: Path) -> str:
    if path[: len(spot.content_at)] == spot.content_at:
        return ELSEWHERE if "attachment" in path else NO_PLACE
    return next((KEPT[step] for step in path if isinstance(step, str) and step in KEPT), NO_FIELD)


_message = frozenset(map(path_of, MESSAGE_FIELDS))
_of_type = {kind: frozenset(map(path_of, names)) for kind, names in TYPE_FIELDS.items()}
_data = {kind: frozenset(map(path_of, names)) for kind, names in DATA_FIELDS.items()}
_header = frozenset(map(path_of, HEADER_FIELDS))
_blocks = {kind: {("type",), *map(path_of, names)} for kind, names in BLOCK_FIELDS.items()}
