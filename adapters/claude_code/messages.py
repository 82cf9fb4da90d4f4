"""One live line to standard messages: a function of the line, its place and the lines before it, nothing else.

- A line is a message. A reply of the API is several lines (one per block), so it is several neighbouring messages that
  share `metadata.reply_id`; each repeats the reply's usage so far, and the last one's counts (never add them up).
- Each tool_result block is a message of role `tool`. What else stands in such a line follows as one message of role
  `user`.
- `append_id` names the line's uuid, the message's place in the line and the line's text, so the same line has the same
  id on every run and in every longer version of the file.
- `native` holds the record, without what the message itself says (`said`). The second message of a line only points to
  it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from adapters.claude_code import origin
from adapters.claude_code.blocks import CONTENT, read_assistant, read_content, read_result, thinking_of
from adapters.claude_code.fields import USAGE_FIELDS
from adapters.claude_code.odd_fields import note_odd_fields
from adapters.claude_code.records import AGENT, Line
from adapters.conversion import Json, Message
from adapters.json_lines import Parsed
from adapters.said import Copy, Said, Unsaid, lift
from adapters.values import text_of
from eventstore.wire.codec import Number

_moment = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_plain_id = re.compile(r"[0-9A-Za-z._-]{1,100}")
_finished = {"end_turn", "tool_use", "stop_sequence"}


@dataclass(frozen=True, slots=True)
class Around:
    """What the lines before tell of a line."""

    parent_id: str | None  # the nearest user or assistant line upwards
    compaction: Json | None  # what the boundary before a compaction's summary says
    is_subagent: bool
    session_id: str = ""  # the one that the transcript names


@dataclass(slots=True)
class Converted:
    """The messages of a line; what of it they do not say, with reasons; and what they say that it did not (by path)."""

    messages: list[Message] = field(default_factory=list)
    unsaid: Unsaid = field(default_factory=dict)
    made_up: list[str] = field(default_factory=list)
    is_reordered: bool = False  # blocks of different kinds stood in another order than the messages have them


def digest_of(raw: bytes | memoryview) -> str:
    """Return what stands for a line's text in the ids that are made of it."""
    return sha256(raw).hexdigest()[:16]


def convert(line: Line, parsed: Parsed, around: Around, digest: str) -> Converted:
    """Return what a live user or assistant line says. `digest` is that of the line's text."""
    record: Json = parsed.value
    done = Converted()
    message = record.get("message")
    message = message if isinstance(message, dict) else {}
    read = _assistant if line.type == "assistant" else _user
    bodies = read(record, message, digest, around, done)
    if line.parent and line.parent != around.parent_id:
        done.unsaid["parentUuid",] = "the parent is no message; the message above it is named"
    note_odd_fields(line, record, around.session_id, around.is_subagent, [body["role"] for body, _ in bodies], done.unsaid)
    common = _common_metadata(line, record, around)
    finish = _finisher(line, record, parsed, around, digest, done.unsaid)
    done.messages = [
        finish(part, body | {"metadata": common | body["metadata"]}, copies if len(bodies) == 1 else ())
        for part, (body, copies) in enumerate(bodies)
    ]
    return done


def _read_status(record: Json, message: Json, metadata: Json, unsaid: Unsaid) -> None:
    reason = message.get("stop_reason")
    if record.get("isApiErrorMessage"):
        metadata["status"] = "error"
    elif isinstance(reason, str) and reason in _finished:
        metadata["status"] = "complete"
    if reason is not None:
        unsaid["message", "stop_reason"] = (
            "the status tells that it ended, not how" if "status" in metadata else "no standard status"
        )


Bodies = list[tuple[Json, Sequence[Copy]]]


def _assistant(record: Json, message: Json, digest: str, around: Around, done: Converted) -> Bodies:
    model = text_of(message, "model")
    reply_id = text_of(message, "id")
    content = message.get("content")
    if isinstance(content, list):
        said = read_assistant(content, model, origin.provider_of(reply_id), digest, done.unsaid)
    else:
        said = _plain(content)
    body: Json = {"role": "assistant", "content": said.content}
    if said.tool_calls:
        body["tool_calls"] = said.tool_calls
    if said.thinking:
        body["thinking"] = thinking_of(said.thinking)
    metadata: Json = {"origin": origin.origin_of_assistant(record, model)}
    if model == origin.SYNTHETIC_MODEL:
        done.unsaid["message", "model"] = "no model: the harness wrote it"
    elif model:
        metadata["model"] = model
    if reply_id:
        metadata["reply_id"] = reply_id
    if usage := _usage(message, done.unsaid):
        metadata["usage"] = usage
    _read_status(record, message, metadata, done.unsaid)
    done.is_reordered = said.is_reordered
    done.made_up += [f"assistant.tool_use.{place[-1]}" for place in said.made_up]
    return [(body | {"metadata": metadata}, said.copies)]


def _user(record: Json, message: Json, digest: str, around: Around, done: Converted) -> Bodies:
    content = message.get("content")
    placed = [((*CONTENT, i), block) for i, block in enumerate(content)] if isinstance(content, list) else []
    results = [(place, block) for place, block in placed if _is_result(block)]
    others = [(place, block) for place, block in placed if not _is_result(block)]
    done.is_reordered = placed != [*results, *others]
    bodies: Bodies = []
    for place, block in results:
        call_id, said = read_result(block, place, digest, done.unsaid)
        metadata = _result_metadata(record, block, place, len(results), done.unsaid)
        bodies.append(({"role": "tool", "tool_call_id": call_id, "content": said.content, "metadata": metadata}, said.copies))
        done.made_up += [f"user.tool_result.{name[-1]}" for name in said.made_up]
    if others or not results:
        shown = Said(*read_content(others, done.unsaid)) if placed else _plain(content)
        metadata = _user_metadata(record, shown.content, around)
        bodies.append(({"role": "user", "content": shown.content, "metadata": metadata}, shown.copies))
    return bodies


def _plain(content: Any) -> Said:
    """What a content that is no list says: a string, or nothing."""
    return Said(content, [Copy(CONTENT, ("content",))]) if isinstance(content, str) else Said()


def _user_metadata(record: Json, content: str | list[Json] | None, around: Around) -> Json:
    first = content[0].get("text", "") if isinstance(content, list) else content or ""
    metadata: Json = {"origin": origin.origin_of_user(record, first, around.is_subagent)}
    if first.startswith(origin.INTERRUPTED):
        metadata["status"] = "interrupted"
    if record.get("isCompactSummary"):
        metadata["compaction"] = around.compaction or {}
    return metadata


def _result_metadata(record: Json, block: Json, place: tuple[str | int, ...], count: int, unsaid: Unsaid) -> Json:
    metadata: Json = {"origin": "agent"}
    is_error = block.get("is_error")
    if isinstance(is_error, bool):
        metadata["is_error"] = is_error
        if is_error:
            metadata["status"] = "error"
    elif "is_error" in block:
        unsaid[*place, "is_error"] = "neither true nor false"
    detail = record.get("toolUseResult")
    if count == 1 and isinstance(detail, dict):
        if detail.get("interrupted") is True:
            metadata["status"] = "interrupted"
        if agent_id := text_of(detail, "agentId"):
            metadata["subagent"] = {"agent_id": agent_id}
    return metadata


def _common_metadata(line: Line, record: Json, around: Around) -> Json:
    metadata: Json = {"agent_source": AGENT, "native_id": line.uuid}
    if around.parent_id:
        metadata["parent_id"] = around.parent_id
    if around.is_subagent and line.told.agent_id:
        metadata["subagent"] = {"agent_id": line.told.agent_id}
    return metadata


def _usage(message: Json, unsaid: Unsaid) -> Json:
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return {}
    for name in USAGE_FIELDS.keys() & usage.keys():
        if not isinstance(usage[name], Number):
            unsaid["message", "usage", name] = "not a number"
    return {name: usage[name] for name in USAGE_FIELDS if isinstance(usage.get(name), Number)}


def _finisher(
    line: Line, record: Json, parsed: Parsed, around: Around, digest: str, unsaid: Unsaid
) -> Callable[[int, Json, Sequence[Copy]], Message]:
    """Return the function that completes a body: append_id, created_at, native."""
    created_at: Json = {"created_at": line.told.timestamp} if _moment.fullmatch(line.told.timestamp) else {}
    if "timestamp" in record and not created_at:
        unsaid["timestamp",] = "no RFC 3339 time"
    name = line.uuid if _plain_id.fullmatch(line.uuid) else sha256(line.uuid.encode("utf-8", "surrogatepass")).hexdigest()[:36]
    version = text_of(record, "version") or "unknown"

    def finish(part: int, body: Json, copies: Sequence[Copy]) -> Message:
        native: Json = {"agent": AGENT, "version": version, "line": line.number}
        if part:
            native["part"] = part
        elif not parsed.is_exact:
            native["raw"] = parsed.text
        else:
            native["record"], said = lift(record, body, copies)
            if said:
                native["said"] = said
        append_id = f"{AGENT}:{name}:{part}:{digest}"
        whole: Json = {"schema_version": 1, "append_id": append_id, **body, **created_at, "native": native}
        return Message(whole, line.uuid, around.parent_id, line.number, part)

    return finish


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"
