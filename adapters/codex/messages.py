"""One live item to one standard message: a function of the item, its line and the lines before it, nothing else.

- An item is a message. A reply of the model is several items (its thinking, its text, each of its calls), so it is several
  neighbouring messages that share `metadata.reply_id`.
- `append_id` names the line by its key, so the same line has the same id on every run and in every longer version of the file.
- `native` holds the line, without what the message itself says (`said`). The second message of a line only points to it.
- A summary of the thinking is readable everywhere; what is encrypted beside it opens only at home, so it is an item of its own.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.codex.live import Unit
from adapters.codex.origin import is_context
from adapters.codex.records import AGENT, ROLES, call_id_of, says
from adapters.conversion import Json, Message
from adapters.json_lines import native_record
from adapters.leaves import Path
from adapters.said import Copy, Unsaid, lift
from adapters.values import text_of
from eventstore.wire import codec

NO_PLACE = "a standard message has no place for this"
NO_TIME = "no time that RFC 3339 can say"
TEXTS = frozenset({"input_text", "output_text", "text"})
STATUS = {"completed": "complete", "incomplete": "interrupted"}

_moment = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


@dataclass(slots=True)
class Converted:
    """The message of an item; what of its line the message does not say, with reasons."""

    message: Message
    unsaid: Unsaid


@dataclass(slots=True)
class _Reading:
    unit: Unit
    body: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)
    unsaid: Unsaid = field(default_factory=dict)
    copies: list[Copy] = field(default_factory=list)

    @property
    def item(self) -> Json:
        return self.unit.item


def convert(unit: Unit, version: str = "", parent: str | None = None, *, holds_line: bool = True) -> Converted:
    """Return what an item says. `holds_line`: is it the first live one of its line, and keeps the line for the way home?"""
    reading = _Reading(unit)
    reading.metadata = {"agent_source": AGENT, "native_id": unit.key, "origin": "agent"}
    kind = says(unit.item)
    assert kind is not None, "an item that is a message"
    _READ[kind](reading)
    around, body = unit.around, reading.body
    if body["role"] == "assistant":
        reading.metadata |= {name: value for name, value in (("model", around.model), ("reply_id", around.reply)) if value}
    if around.is_compaction:
        reading.metadata["compaction"] = {}
    at = text_of(unit.line.parsed.value, "timestamp")
    if _moment.fullmatch(at):
        body["created_at"] = at
    elif "timestamp" in unit.line.parsed.value:
        reading.unsaid["timestamp",] = NO_TIME
    whole = {"schema_version": 1, "append_id": f"{AGENT}:{unit.key}", **body, "metadata": reading.metadata}
    native = _native(unit, version, whole, reading.copies if holds_line else None)
    message = Message(whole | {"native": native}, unit.key, parent, unit.line.number, unit.part)
    return Converted(message, reading.unsaid)


def _native(unit: Unit, version: str, whole: Json, copies: list[Copy] | None) -> Json:
    """The line; only its number and the place of the item where another message of the line holds it (`copies` is None)."""
    native: Json = {"agent": AGENT, "version": version or "unknown", "line": unit.line.number}
    if unit.part:
        native["part"] = unit.part
    if copies is None:
        return native
    native |= native_record(unit.line.number, unit.line.raw)
    if "record" in native:
        native["record"], said = lift(native["record"], whole, copies)
        if said:
            native["said"] = said
    return native


def _message(reading: _Reading) -> None:
    item = reading.item
    is_agents = item.get("type") == "agent_message"  # from another agent: the model is shown it as it is a user's
    role = "user" if is_agents else ROLES[item["role"]]
    reading.body = {"role": role, "content": _content(reading, "content")}
    if role == "system":
        reading.metadata["origin"] = "harness"
    elif role == "user" and not is_agents:
        is_delegated = reading.unit.around.is_subagent
        reading.metadata["origin"] = "harness" if is_context(item) else "agent" if is_delegated else "human"
    _status(reading)


def _reasoning(reading: _Reading) -> None:
    item, at = reading.item, reading.unit.at
    items: list[Json] = []
    for name in ("summary", "content"):
        parts = item.get(name)
        if not isinstance(parts, list):
            if parts is not None:
                reading.unsaid[*at, name] = NO_PLACE
            continue
        for index, part in enumerate(parts):
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                reading.copies.append(Copy((*at, name, index, "text"), ("thinking", "items", len(items), "text")))
                items.append({"text": text})
            else:
                reading.unsaid[*at, name, index] = NO_PLACE
    _think(reading, items)


def _sealed(reading: _Reading) -> None:
    """A summary that only the provider can read."""
    _think(reading, [])


def _think(reading: _Reading, items: list[Json]) -> None:
    item, around = reading.item, reading.unit.around
    texts = [shown["text"] for shown in items if shown["text"]]
    data = text_of(item, "encrypted_content")
    if data:
        place: Path = ("thinking", "items", len(items), "data")
        reading.copies.append(Copy((*reading.unit.at, "encrypted_content"), place))
        whose = (("id", text_of(item, "id")), ("provider", around.provider), ("model", around.model))
        items.append({"data": data} | {name: value for name, value in whose if value})
    elif text_of(item, "id") and items:
        items[0]["id"] = item["id"]
    thinking = {"content": "\n\n".join(texts) or None, "encrypted": bool(data), "items": items}
    reading.body = {"role": "assistant", "content": None} | ({"thinking": thinking} if items else {})
    _status(reading)


def _call(reading: _Reading) -> None:
    item, at = reading.item, reading.unit.at
    kind = item["type"]
    field_, name = _ARGUMENTS[kind]
    given = item.get(field_)
    arguments = given if isinstance(given, str) else "" if given is None else codec.dump(given)
    how = "" if isinstance(given, str) else "json"
    if given is not None:
        reading.copies.append(Copy((*at, field_), ("tool_calls", 0, "function", "arguments"), how))  # type: ignore[arg-type]  # one of How
    function = {"name": text_of(item, "name") or name, "arguments": arguments}
    call = {"id": call_id_of(item), "type": "function", "function": function}
    reading.body = {"role": "assistant", "content": None, "tool_calls": [call]}
    _status(reading)


def _result(reading: _Reading) -> None:
    item = reading.item
    if item["type"] == "tool_search_output":
        content: str | list[Json] | None = codec.dump(item["tools"]) if "tools" in item else ""
        reading.copies += [Copy((*reading.unit.at, "tools"), ("content",), "json")] if "tools" in item else []
    else:
        content = _content(reading, "output")
    reading.body = {"role": "tool", "tool_call_id": item["call_id"], "content": "" if content is None else content}
    if reading.unit.around.is_failed is not None:
        reading.metadata["is_error"] = reading.unit.around.is_failed
        if reading.unit.around.is_failed:
            reading.metadata["status"] = "error"


def _content(reading: _Reading, name: str) -> str | list[Json] | None:
    """What a content, or a result's output, says: a string where it is one text, else parts."""
    content, at = reading.item.get(name), (*reading.unit.at, name)
    if reading.unit.at[-1:] == ("message",):
        at = reading.unit.at  # a compacted line's own text, which stands in no item
    if isinstance(content, dict) and "content" in content:
        content, at = content["content"], (*at, "content")  # as the first versions wrote a result
    if content is None:
        return None
    if isinstance(content, str):
        reading.copies.append(Copy(at, ("content",)))
        return content
    if not isinstance(content, list):
        reading.copies.append(Copy(at, ("content",), "json"))
        return codec.dump(content)
    parts, copies = _parts(content, at, reading.unsaid)
    if len(parts) == 1 and parts[0]["type"] == "text":
        reading.copies += [Copy(copy.record, ("content",)) for copy in copies]
        return str(parts[0]["text"])
    reading.copies += copies
    return parts or None


def _parts(content: list[Any], at: Path, unsaid: Unsaid) -> tuple[list[Json], list[Copy]]:
    parts: list[Json] = []
    copies: list[Copy] = []
    for index, part in enumerate(content):
        match part:
            case {"type": str(kind), "text": str(text)} if kind in TEXTS:
                copies.append(Copy((*at, index, "text"), ("content", len(parts), "text")))
                parts.append({"type": "text", "text": text})
            case {"type": "input_image", "image_url": str(url)}:
                copies.append(Copy((*at, index, "image_url"), ("content", len(parts), "image_url", "url")))
                detail = part.get("detail")
                image = {"url": url} | ({"detail": detail} if isinstance(detail, str) else {})
                parts.append({"type": "image_url", "image_url": image})
            case _:
                unsaid[*at, index] = NO_PLACE
    return parts, copies


def _status(reading: _Reading) -> None:
    status = reading.item.get("status")
    if reading.body["role"] == "assistant" and isinstance(status, str) and status in STATUS:
        reading.metadata["status"] = STATUS[status]
    elif status is not None:
        reading.unsaid[*reading.unit.at, "status"] = "no standard status"


_READ: Mapping[str, Callable[[_Reading], None]] = {
    "message": _message,
    "reasoning": _reasoning,
    "sealed": _sealed,
    "call": _call,
    "result": _result,
}
# Where a call's arguments stand, and what the tool is called where the item does not name it.
_ARGUMENTS: Mapping[str, tuple[str, str]] = {
    "function_call": ("arguments", ""),
    "custom_tool_call": ("input", ""),
    "local_shell_call": ("action", "local_shell"),
    "tool_search_call": ("arguments", "tool_search"),
}
