"""One live row to one standard message: a function of the row, its key and the calls before it, nothing else.

The message holds nothing that Hermes may change later, so a message in the log never has to change. `native` has the row,
without what the message says (`said`), without empty columns, and without what may change.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from adapters.conversion import Json, Message
from adapters.hermes.records import AGENT, SENTINEL, as_kept, is_summary, json_of, lasting
from adapters.hermes.thinking import read_thinking
from adapters.hermes.times import rfc3339
from adapters.leaves import Path
from adapters.said import Copy, Unsaid, lift
from adapters.values import depth_of, int_of, text_of
from eventstore.wire import codec

NO_PLACE = "a standard message has no place for this"
CONTENT_DEPTH_MAX = 100
_finished = frozenset({"stop", "tool_calls", "end_turn"})
_CALL_KEYS = frozenset({"id", "type", "function"})
_refused = frozenset({"denied", "blocked", "rejected", "refused"})


@dataclass(frozen=True, slots=True)
class Around:
    """What the rows before tell of a row. `call_ids`: by another name of a call, its id."""

    key: str
    line: int
    version: str
    parent: str | None
    call_ids: Mapping[str, str]
    is_subagent: bool = False


@dataclass(slots=True)
class Converted:
    """The message of a row; what of it the message does not say, with reasons; and what the row did not say (by path)."""

    message: Message
    unsaid: Unsaid
    made_up: list[str]


@dataclass(slots=True)
class _Reading:
    row: Json
    around: Around
    unsaid: Unsaid = field(default_factory=dict)
    made_up: list[str] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)


def convert(row: Json, around: Around) -> Converted:
    """Return what a row of a known role says."""
    reading = _Reading(row, around)
    role = row["role"]
    body: Json = {"role": role, "content": _content(reading)}
    metadata: Json = {"agent_source": AGENT, "native_id": around.key, "origin": _origin(role, body["content"], around)}
    if role in ("user", "assistant") and is_summary(body["content"]):
        metadata |= {"origin": "harness", "compaction": {}}
    if role == "assistant":
        _assistant(reading, body, metadata)
    elif role == "tool":
        _tool(reading, body, metadata)
    at = rfc3339(row.get("timestamp"))
    if at:
        body["created_at"] = at
    elif row.get("timestamp") is not None:
        reading.unsaid["timestamp",] = "no time that RFC 3339 can say"
    whole = {"schema_version": 1, "append_id": f"{AGENT}:{around.key}", **body, "metadata": metadata}
    native: Json = {"agent": AGENT, "version": around.version, "key": around.key} | as_kept(lasting(row))
    if "row" in native:
        native["row"], said = lift(native["row"], whole, reading.copies)
        if said:
            native["said"] = said
    message = Message(whole | {"native": native}, around.key, around.parent, around.line)
    return Converted(message, reading.unsaid, reading.made_up)


def call_names(row: Any) -> dict[str, str]:
    """By another name that a result may give it, the id of each call of a row."""
    calls = json_of(row.get("tool_calls")) if isinstance(row, dict) else None
    pairs = ((text_of(call, "call_id"), text_of(call, "id")) for call in calls) if isinstance(calls, list) else ()
    return {name: call_id for name, call_id in pairs if name and call_id and name != call_id}


def _content(reading: _Reading) -> str | list[Json] | None:
    content = reading.row.get("content")
    here: Path = ("content",)
    if isinstance(content, str) and content.startswith(SENTINEL):
        decoded = json_of(content.removeprefix(SENTINEL))
        content = content if decoded is None else decoded
        here = ()  # said in other words: nothing of it is taken out of the row
    if content is None:
        return None
    if isinstance(content, str):
        reading.copies += [Copy(here, ("content",))] if here else []
        return content
    if not isinstance(content, list) or depth_of(content) > CONTENT_DEPTH_MAX:
        reading.unsaid["content",] = "neither a string nor a list of parts; the message says it as JSON"
        return codec.dump(content)
    return _parts(content, reading, here)


def _parts(content: list[Any], reading: _Reading, here: Path) -> list[Json] | None:
    parts: list[Json] = []
    for index, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str) or not isinstance(part.get("text"), str | None):
            reading.unsaid["content", index] = NO_PLACE
            continue
        if here:
            place = ("content", index)
            reading.copies += [Copy((*place, *path), ("content", len(parts), *path)) for path in _texts(part)]
        parts.append(part)
    return parts or None


def _texts(part: Json) -> list[Path]:
    if isinstance(part.get("text"), str):
        return [("text",)]
    image = part.get("image_url")
    return [("image_url", "url")] if isinstance(image, dict) and isinstance(image.get("url"), str) else []


def _assistant(reading: _Reading, body: Json, metadata: Json) -> None:
    calls = _calls(reading)
    if calls:
        body["tool_calls"] = calls
    thinking, copies = read_thinking(reading.row, reading.unsaid)
    if thinking:
        body["thinking"] = thinking
        reading.copies += copies
    reason = reading.row.get("finish_reason")
    if isinstance(reason, str) and reason in _finished:
        metadata["status"] = "complete"
    elif reason is not None:
        reading.unsaid["finish_reason",] = "no standard status"


def _calls(reading: _Reading) -> list[Json]:
    held = reading.row.get("tool_calls")
    if held is None:
        return []
    values = json_of(held)
    if not isinstance(values, list):
        reading.unsaid["tool_calls",] = NO_PLACE
        return []
    calls: list[Json] = []
    for index, value in enumerate(values):
        function = value.get("function") if isinstance(value, dict) else None
        if not isinstance(function, dict):
            reading.unsaid["tool_calls", *(() if isinstance(held, str) else (index,))] = NO_PLACE
            continue
        calls.append(_call(reading, value, function, index, len(calls), isinstance(held, list)))
        if isinstance(held, str) and not (value.keys() <= _CALL_KEYS and function.keys() <= {"name", "arguments"}):
            reading.unsaid["tool_calls",] = "what else stands in the calls has no standard field"
    return calls


def _call(reading: _Reading, value: Json, function: Json, index: int, at: int, is_parsed: bool) -> Json:
    call_id = text_of(value, "id") or text_of(value, "call_id")
    if not call_id:
        call_id = _made_up(reading, index)
        reading.made_up.append("assistant.tool_calls[].id")
    name = text_of(function, "name")
    if not name:
        name = "unknown"
        reading.made_up.append("assistant.tool_calls[].function.name")
    for path, told in ((("id",), value.get("id")), (("type",), value.get("type")), (("function", "name"), function.get("name"))):
        if not isinstance(told, str | None) or (path == ("type",) and told not in (None, "function")):
            reading.unsaid[("tool_calls", index, *path) if is_parsed else ("tool_calls",)] = NO_PLACE
    arguments = function.get("arguments")
    here: Path = ("tool_calls", index, "function", "arguments")
    there: Path = ("tool_calls", at, "function", "arguments")
    if is_parsed and arguments is not None:
        reading.copies.append(Copy(here, there, "" if isinstance(arguments, str) else "json"))
    text = arguments if isinstance(arguments, str) else "" if arguments is None else codec.dump(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _tool(reading: _Reading, body: Json, metadata: Json) -> None:
    call_id = text_of(reading.row, "tool_call_id")
    if not call_id:
        call_id = _made_up(reading, 0)
        reading.made_up.append("tool.tool_call_id")
        if reading.row.get("tool_call_id") not in (None, ""):
            reading.unsaid["tool_call_id",] = NO_PLACE
    body["tool_call_id"] = reading.around.call_ids.get(call_id, call_id)
    body["content"] = "" if body["content"] is None else body["content"]
    is_error = _failed(reading.row)
    if is_error is not None:
        metadata["is_error"] = is_error
        if is_error:
            metadata["status"] = "error"


def _failed(row: Json) -> bool | None:
    """Whether the tool failed, as far as the row tells: Hermes keeps no flag."""
    if row.get("effect_disposition") in _refused:
        return True
    content = row.get("content")
    told = json_of(content) if isinstance(content, str) and content.startswith("{") else None
    if not isinstance(told, dict):
        return None
    code, success, error = int_of(told.get("exit_code")), told.get("success"), told.get("error")
    if success is False or code not in (None, 0) or (isinstance(error, str) and error):
        return True
    return False if code == 0 or success is True else None


def _origin(role: str, content: Any, around: Around) -> str:
    if role == "user":
        return "agent" if around.is_subagent else "human"
    return "harness" if role == "system" else "agent"


def _made_up(reading: _Reading, place: int) -> str:
    return "call_" + sha256(f"{reading.around.key}:{place}".encode()).hexdigest()[:24]
