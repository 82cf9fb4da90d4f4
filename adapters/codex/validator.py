"""What Codex would refuse, or pass over without a word, in a rollout; written from its format, knowing nothing of the writer.

A line that it cannot read is passed over; a session whose first line is not its own description is not found; a result without a
call is dropped, and a call without a result answered by Codex itself; an id that is no UUID starts a new session.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from adapters.codex.live import history_of
from adapters.codex.records import CALLS, RESULTS, Line, call_id_of, lines_of, replaced_by
from adapters.conversion import Json
from adapters.leaves import leaves
from adapters.values import text_of

_uuid = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_call_id = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_surrogate = re.compile("[\ud800-\udfff]")
_ROLES = frozenset({"user", "assistant", "system", "developer"})
_PARTS = {"input_text": "text", "output_text": "text", "input_image": "image_url"}


def problems(records: Iterable[bytes]) -> list[str]:
    """Return what is wrong with a rollout, given as its lines; nothing for one that can be resumed."""
    lines = lines_of(records)
    found = [f"line {line.number}: {problem}" for line in lines for problem in _of_line(line)]
    found += _of_session(lines)
    live = [unit.item for unit in history_of(lines).live]
    if not any(item.get("type") == "message" or item.get("type") in CALLS for item in live):
        found.append("nothing was said")
    return [*found, *_of_calls(live)]


def _of_session(lines: Sequence[Line]) -> Iterator[str]:
    own = lines[0].payload if lines and lines[0].type == "session_meta" else None
    if own is None:
        yield "line 1: not the session's own description, so it is not found"
        return
    if not _uuid.fullmatch(text_of(own, "id")):
        yield "line 1: the session's id is no UUID; resuming it starts a new session"
    for name in ("timestamp", "cwd", "originator", "cli_version"):
        if not text_of(own, name):
            yield f"line 1: no {name}"
    if not isinstance(own.get("source"), str | dict):
        yield "line 1: no source"
    if not isinstance(own.get("model_provider"), str | None):
        yield "line 1: model_provider is no name"


def _of_line(line: Line) -> Iterator[str]:
    if line.parsed.problem:
        yield f"it cannot be read, and is passed over: {line.parsed.problem}"
        return
    value: Json = line.parsed.value
    if not line.at:
        yield "no envelope: this version of the agent passes it over"
        return
    if not _time.fullmatch(text_of(value, "timestamp")):
        yield "timestamp is no time"
    if not line.type:
        yield "no type"
    escaped = b"\\ud" in bytes(line.raw).lower()  # in UTF-8, half a pair can only be written so
    if escaped and any(isinstance(text, str) and _surrogate.search(text) for path, leaf in leaves(value) for text in (*path, leaf)):
        yield "half a surrogate pair: the line cannot be read"
    payload = line.payload or {}
    if line.type == "response_item":
        yield from _of_item(payload)
    elif line.type == "event_msg" and not text_of(payload, "type"):
        yield "an event of no type"
    elif line.type == "compacted":
        if not isinstance(payload.get("message"), str):
            yield "a summary without its text"
        for item, _ in replaced_by(payload) if "replacement_history" in payload else ():
            yield from _of_item(item)


def _of_item(item: Any) -> Iterator[str]:
    match item:
        case {"type": "message", "role": str(role), "content": list(content)}:
            if role not in _ROLES:
                yield "a message of an unknown role"
            kind = "output_text" if role == "assistant" else "input_text"
            yield from (problem for part in content for problem in _of_part(part, kind))
        case {"type": "reasoning", "summary": list()}:
            pass
        case {"type": "function_call", "name": str(name), "arguments": str(), "call_id": str(call)}:
            if not name or not _call_id.fullmatch(call):
                yield "a call without a name, or with an id that the API refuses"
        case {"type": "custom_tool_call", "name": str(), "input": str(), "call_id": str()}:
            pass
        case {"type": "function_call_output" | "custom_tool_call_output", "call_id": str(), "output": output}:
            yield from _of_output(output)
        case {"type": "message" | "reasoning" | "function_call" | "custom_tool_call" | "function_call_output", **_more}:
            yield "an item that lacks what it must have: the line is passed over"
        case {"type": str()}:
            pass  # other kinds, and those of other versions
        case _:
            yield "an item of no type"


def _of_output(output: Any) -> Iterator[str]:
    if isinstance(output, list):
        yield from (problem for part in output for problem in _of_part(part, "input_text"))
    elif not isinstance(output, str | dict):
        yield "an output that is neither text nor parts"


def _of_part(part: Any, kind: str) -> Iterator[str]:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        yield "a part of no type"
        return
    field = _PARTS.get(part["type"])
    if field and not isinstance(part.get(field), str):
        yield f"a part without its {field}"
    if part["type"] in ("input_text", "output_text") and part["type"] != kind:
        yield "a text of the other side's kind, which the API refuses"
    if part["type"] == "input_image" and kind == "output_text":
        yield "an image that the assistant sent, which the API refuses"


def _of_calls(live: Sequence[Json]) -> Iterator[str]:
    """What the API, or Codex before it, makes of calls and results."""
    calls = Counter(call_id_of(item) for item in live if item.get("type") in CALLS)
    results = Counter(text_of(item, "call_id") for item in live if item.get("type") in RESULTS)
    yield from (f"call {call}: two of one id" for call, count in calls.items() if count > 1)
    yield from (f"call {call}: answered twice" for call, count in results.items() if count > 1)
    yield from (f"call {call}: no result; the agent makes one up" for call in calls if call not in results)
    yield from (f"result {call}: answers no call, and is dropped" for call in results if call not in calls)
    open_calls: set[str] = set()
    for item in live:
        if item.get("type") in CALLS:
            open_calls.add(call_id_of(item))
        elif item.get("type") in RESULTS and (call := text_of(item, "call_id")) in calls and call not in open_calls:
            yield f"result {call}: stands before its call"
