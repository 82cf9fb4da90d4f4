"""One event of the surface to one standard message: a function of the event, its key and the events before it, nothing else.

A log's lines never change, so neither do these messages. `native` has the line, without what the message says (`said`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from adapters.conversion import Json, Message
from adapters.dsh.records import AGENT, ROLES, Spot, rfc3339, spot_of
from adapters.dsh.surface import replaced
from adapters.json_lines import Parsed
from adapters.leaves import Path
from adapters.said import Copy, Unsaid, lift
from adapters.values import int_of, object_of, text_of
from eventstore.wire import codec

SEALED_STATE = "the provider's own state of the reply: it opens only where it came from"
NO_PLACE = "a standard message has no place for this"
ELSEWHERE = "the image itself stands in the agent's own store of attachments, not in the log"
USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadTokens": "cache_read_input_tokens",
    "cacheWriteTokens": "cache_creation_input_tokens",
    "reasoningTokens": "reasoning_tokens",
}
# What a message of role user is, by the kind of its source; of a kind not named here, the harness wrote it.
ORIGINS = {
    "user": "human",
    "user-question-reply": "human",
    "agent-message": "agent",
    "subagent-settled": "agent",
    "team-message": "agent",
}
CHECKPOINTS = ("compact-checkpoint", "compact")
UNKNOWN_OUTCOME = "TOOL_OUTCOME_UNKNOWN"


@dataclass(frozen=True, slots=True)
class Around:
    """What the lines before tell of an event."""

    key: str
    line: int
    version: str
    parent: str | None
    is_subagent: bool = False


@dataclass(slots=True)
class Converted:
    """The message of an event; what of it the message does not say, with reasons; and what the event did not say (by path)."""

    message: Message
    unsaid: Unsaid
    made_up: list[str]
    is_reordered: bool


@dataclass(slots=True)
class _Reading:
    spot: Spot
    around: Around
    unsaid: Unsaid = field(default_factory=dict)
    made_up: list[str] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    shown: list[Json] = field(default_factory=list)
    calls: list[Json] = field(default_factory=list)
    thoughts: list[Json] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)  # 0 thinking, 1 shown, 2 call: as they came


def convert(parsed: Parsed, around: Around) -> Converted | None:
    """Return what a line says that holds an event of the surface; None where no message is in it."""
    record: Json = parsed.value
    spot = spot_of(record)
    if spot is None:
        return None
    reading = _Reading(spot, around)
    role = ROLES[record["type"]]
    body: Json = {"role": role, "content": _content(reading, role)}
    metadata: Json = {"agent_source": AGENT, "native_id": around.key}
    if around.parent:
        metadata["parent_id"] = around.parent
    if role == "assistant":
        _assistant(record, reading, body, metadata)
    elif role == "tool":
        _tool(record, reading, body, metadata)
    else:
        _user(record, reading, role, metadata)
    at = rfc3339(record.get("time"))
    if at:
        body["created_at"] = at
    else:
        reading.unsaid["time",] = "no time that RFC 3339 can say"
    whole = {"schema_version": 1, "append_id": _append_id(around.key), **body, "metadata": metadata}
    native: Json = {"agent": AGENT, "version": around.version, "line": around.line}
    if parsed.is_exact:
        native["record"], said = lift(record, whole, reading.copies)
        if said:
            native["said"] = said
    else:
        native["raw"] = parsed.text
    message = Message(whole | {"native": native}, around.key, around.parent, around.line)
    return Converted(message, reading.unsaid, reading.made_up, reading.kinds != sorted(reading.kinds))


def _append_id(key: str) -> str:
    if len(key) <= 150 and key.isprintable():
        return f"{AGENT}:{key}"
    return f"{AGENT}:{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _content(reading: _Reading, role: str) -> str | list[Json] | None:
    content, at = reading.spot.content, reading.spot.content_at
    if isinstance(content, str):
        reading.copies.append(Copy(at, ("content",)))
        return content
    if not isinstance(content, list):
        reading.unsaid[at] = NO_PLACE
        return "" if role == "tool" else None
    for index, block in enumerate(content):
        _block(reading, block, (*at, index), role)
    if len(reading.shown) == 1 and reading.shown[0]["type"] == "text":
        reading.copies = [_shorter(copy) for copy in reading.copies]
        return str(reading.shown[0]["text"])
    return reading.shown or ("" if role == "tool" else None)


def _shorter(copy: Copy) -> Copy:
    """Of a content with one text, where that stands as the content itself."""
    return Copy(copy.record, ("content",)) if copy.message == ("content", 0, "text") else copy


def _block(reading: _Reading, block: Any, here: Path, role: str) -> None:
    match block:
        case {"type": "text", "text": str(text)}:
            reading.copies.append(Copy((*here, "text"), ("content", len(reading.shown), "text")))
            reading.shown.append({"type": "text", "text": text})
            reading.kinds.append(1)
        case {"type": "image", "attachment": {"attachmentId": str(name)}}:
            reading.shown.append({"type": "image_url", "image_url": {"url": name}})
            reading.kinds.append(1)
        case {"type": "reasoning", "text": str(text)} if role == "assistant":
            place = ("thinking", "items", len(reading.thoughts), "text")
            reading.copies.append(Copy((*here, "text"), place))
            reading.thoughts.append({"text": text} | _seal(reading, here))
            reading.kinds.append(0)
        case {"type": "tool-call"} if role == "assistant":
            reading.calls.append(_call(reading, block, here))
            reading.kinds.append(2)
        case _:
            reading.unsaid[here] = NO_PLACE


def _seal(reading: _Reading, here: Path) -> Json:
    """Whose a thought is, and its signature: that opens only for the provider that made it."""
    source, _ = _source(reading.spot)
    item = {name: text for name in ("provider", "model") if (text := text_of(source, name))}
    index, count = here[-1], len(reading.spot.content)
    blocks = object_of(source, "replayState").get("blocks")
    if isinstance(blocks, list) and isinstance(index, int) and len(blocks) == count and text_of(blocks[index], "signature"):
        item["signature"] = text_of(blocks[index], "signature")
    return item


def _source(spot: Spot) -> tuple[Json, Path]:
    """Who made a reply, and where that stands; the first v0 logs call it its provenance."""
    name = "source" if object_of(spot.message, "source") else "provenance"
    return object_of(spot.message, name), (*spot.at, name)


def _note_source(reading: _Reading, source: Json, at: Path) -> None:
    """What of a reply's source no thought says."""
    if not reading.thoughts:
        reading.unsaid[*at, "provider"] = "about where it came from"
    held = object_of(source, "replayState").get("blocks")
    blocks: list[Any] = held if isinstance(held, list) else []
    content = reading.spot.content if isinstance(reading.spot.content, list) else []
    for index, block in enumerate(blocks):
        is_thought = len(blocks) == len(content) and text_of(content[index], "type") == "reasoning"
        if not is_thought or not isinstance(content[index].get("text"), str) or not text_of(block, "signature"):
            reading.unsaid[*at, "replayState", "blocks", index] = SEALED_STATE


def _call(reading: _Reading, block: Json, here: Path) -> Json:
    call_id, name, arguments = block.get("id"), block.get("name"), block.get("arguments")
    if not isinstance(call_id, str) or not call_id:
        reading.made_up.append("assistant.tool_calls[].id")
        reading.unsaid |= {(*here, "id"): NO_PLACE} if call_id not in (None, "") else {}
        call_id = _made_up(reading, len(reading.calls))
    if not isinstance(name, str) or not name:
        reading.made_up.append("assistant.tool_calls[].function.name")
        reading.unsaid |= {(*here, "name"): NO_PLACE} if name not in (None, "") else {}
        name = "unknown"
    place = ("tool_calls", len(reading.calls), "function", "arguments")
    if arguments is not None:
        reading.copies.append(Copy((*here, "arguments"), place, "" if isinstance(arguments, str) else "json"))
    text = arguments if isinstance(arguments, str) else "" if arguments is None else codec.dump(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _assistant(record: Json, reading: _Reading, body: Json, metadata: Json) -> None:
    if reading.calls:
        body["tool_calls"] = reading.calls
    if reading.thoughts:
        texts = [item["text"] for item in reading.thoughts if item["text"]]
        is_short = len(texts) < len(reading.thoughts)
        body["thinking"] = {"content": "\n\n".join(texts) or None, "encrypted": is_short, "items": reading.thoughts}
    metadata["origin"] = "agent"
    data, source, at = record["data"], *_source(reading.spot)
    _note_source(reading, source, at)
    if model := text_of(source, "model"):
        metadata["model"] = model
    if data.get("interrupted") is True:
        metadata["status"] = "interrupted"
    elif "interrupted" in data:
        reading.unsaid["data", "interrupted"] = NO_PLACE
    usage = object_of(data, "usage")
    told = {standard: usage[name] for name, standard in USAGE.items() if int_of(usage.get(name)) is not None}
    if told:
        metadata["usage"] = told
    for name in USAGE.keys() & usage.keys():
        if int_of(usage[name]) is None:
            reading.unsaid["data", "usage", name] = "not a whole number"


def _tool(record: Json, reading: _Reading, body: Json, metadata: Json) -> None:
    spot = reading.spot
    told: Sequence[tuple[Json, Path]] = (
        (spot.result, (*spot.result_at, "toolCallId")),
        (object_of(spot.message, "source"), (*spot.at, "source", "callId")),
        (record["data"], ("data", "callId")),
    )
    call_id = next((text for holder, place in told if (text := text_of(holder, str(place[-1])))), "")
    for holder, place in told:
        if holder.get(str(place[-1]), call_id) != call_id or not call_id:
            reading.unsaid[place] = "another call is named"
    if not call_id:
        reading.made_up.append("tool.tool_call_id")
        call_id = _made_up(reading, 0)
    body["tool_call_id"] = call_id
    metadata["origin"] = "agent"
    is_error = spot.result.get("isError")
    if isinstance(is_error, bool):
        metadata["is_error"] = is_error
    elif "isError" in spot.result:
        reading.unsaid[*spot.result_at, "isError"] = "neither true nor false"
    if text_of(object_of(record["data"], "error"), "code") == UNKNOWN_OUTCOME:
        metadata["status"] = "interrupted"
    else:
        reading.unsaid["data", "error", "code"] = "the status tells that it failed, not how"
        if is_error is True:
            metadata["status"] = "error"


def _user(record: Json, reading: _Reading, role: str, metadata: Json) -> None:
    source = object_of(reading.spot.message, "source")
    kind = text_of(source, "kind")
    origin = ORIGINS.get(kind, "harness") if role == "user" else "harness"
    if origin == "human" and reading.around.is_subagent:
        origin = "agent"
    is_checkpoint = kind in CHECKPOINTS or "compact" in text_of(source, "plugin")
    if role == "user" and (is_checkpoint or replaced(record) is not None):
        origin = "harness"
        metadata["compaction"] = {}
    metadata["origin"] = origin


def _made_up(reading: _Reading, place: int) -> str:
    seed = f"{reading.around.key}:{place}".encode("utf-8", "surrogatepass")
    return "call_" + sha256(seed).hexdigest()[:24]
