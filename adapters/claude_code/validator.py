"""What Claude Code, or the API behind it, would refuse or silently overlook in a transcript; written from the facts alone.

A sound transcript can be listed, is read back in full, and its next turn is accepted: see `docs/adapters.md`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from adapters.claude_code.live_branch import live_branch, subagent_branch
from adapters.claude_code.records import Line
from adapters.claude_code.transcript import Transcript
from adapters.conversion import Json
from adapters.leaves import leaves
from adapters.values import text_of
from eventstore.errors import InvalidJson
from eventstore.wire import codec

_uuid = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_time = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_tool_id = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_reply_fields = ("id", "type", "role", "model", "stop_reason", "stop_sequence", "usage")
_block_types = frozenset({"text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking"})
_surrogate = re.compile("[\ud800-\udfff]")

Turn = tuple[str, list[Json]]


def problems(records: Iterable[bytes]) -> list[str]:
    """Return what is wrong with a transcript, given as its lines; nothing for one that can be resumed."""
    lines = list(records)
    file = Transcript(lines)
    values = [_value(raw) for raw in lines]
    found = [f"line {number}: no JSON object" for number, value in enumerate(values, 1) if value is None]
    found += _of_envelopes(file.lines, values)
    spoken = [line for line in file.lines if line.is_message]
    if not spoken:
        return [*found, "nothing was said, so the session is not listed"]
    is_subagent = all(line.told.is_sidechain for line in spoken)
    branch = subagent_branch(file.tree) if is_subagent else live_branch(file.tree)
    live = [values[line.number - 1] for line in branch if line.is_message and (is_subagent or not line.told.is_sidechain)]
    return [*found, *_of_turns([value for value in live if value is not None])]


def _value(raw: bytes) -> Json | None:
    try:
        value = codec.parse(raw.removeprefix(b"\xef\xbb\xbf").decode())
    except (UnicodeDecodeError, InvalidJson):
        return None
    return value if isinstance(value, dict) else None


def _of_envelopes(lines: Sequence[Line], values: Sequence[Json | None]) -> Iterator[str]:
    known: set[str] = set()
    sessions = Counter(text_of(value, "sessionId") for value in values if value and "sessionId" in value)
    if len(sessions) > 1:
        yield f"lines name {len(sessions)} sessions; all must name the file's"
    for name in sessions:
        if not _uuid.fullmatch(name):
            yield "a sessionId is no lower-case UUID"
    uuids = {line.uuid for line in lines if line.uuid}
    for line, value in zip(lines, values, strict=True):
        if value is None:
            continue
        if "leafUuid" in value and text_of(value, "leafUuid") not in uuids:
            yield f"line {line.number}: leafUuid names no line"
        if line.is_chained:
            for problem in _of_envelope(value, known):
                yield f"line {line.number}: {problem}"
            known.add(line.uuid)


def _of_envelope(value: Json, known: set[str]) -> Iterator[str]:
    if not _uuid.fullmatch(value["uuid"]):
        yield "uuid is no lower-case UUID"
    if value["uuid"] in known:
        yield "its uuid stands for another line already"
    parent = value.get("parentUuid", "")
    if parent is not None and text_of(value, "parentUuid") not in known and not value.get("isSidechain"):
        yield "parentUuid names no line before it" if known else "the first line must have no parent"
    if not _time.fullmatch(text_of(value, "timestamp")):
        yield "timestamp is no UTC time in milliseconds"
    for field in ("cwd", "sessionId", "version"):
        if not text_of(value, field):
            yield f"no {field}"
    if not isinstance(value.get("isSidechain"), bool):
        yield "isSidechain is neither true nor false"
    if text_of(value, "toolUseResult").startswith("<"):
        yield "toolUseResult is text that some renderers take for JSON"
    if value.get("type") in ("user", "assistant"):
        yield from _of_message(value)


def _of_message(value: Json) -> Iterator[str]:
    message = value.get("message")
    if not isinstance(message, dict) or message.get("role") != value["type"]:
        yield "no message of its role"
        return
    if value["type"] == "assistant":
        yield from (f"the reply has no {field}" for field in _reply_fields if field not in message)
        usage = message.get("usage")
        if not isinstance(usage, dict) or not all(
            isinstance(usage.get(n), codec.Number) for n in ("input_tokens", "output_tokens")
        ):
            yield "usage has no numbers of tokens"
    blocks = _blocks(message)
    if not blocks:
        yield "no content"
    for block in blocks:
        yield from _of_block(block, value["type"])


def _of_block(block: Any, role: str) -> Iterator[str]:
    match block:
        case {"type": "text", "text": str(text)}:
            if role == "user" and not text.strip():
                yield "a blank text"
        case {"type": "tool_use", "id": str(call), "name": str(name), "input": dict()}:
            if role != "assistant" or not _tool_id.fullmatch(call) or not name:
                yield "a tool_use that the API refuses"
        case {"type": "tool_result", "tool_use_id": str(call)}:
            content = block.get("content", "")
            if role != "user" or not _tool_id.fullmatch(call) or not isinstance(content, str | list):
                yield "a tool_result that the API refuses"
            for inner in content if isinstance(content, list) else ():
                yield from _of_block(inner, "user")
        case {"type": "thinking", "thinking": str(), "signature": str(signature)}:
            if role != "assistant" or not signature:
                yield "thinking without a signature"
        case {"type": "redacted_thinking", "data": str()} if role == "assistant":
            pass
        case {"type": "image" | "document", "source": {"type": "base64", "media_type": str(), "data": str(data)}}:
            if role != "user" or not data:
                yield "media that the API refuses"
        case {"type": str(kind)} if kind not in _block_types:
            pass  # new kinds of blocks come with releases
        case _:
            yield "a block that the API refuses"


def _of_turns(live: Sequence[Json]) -> Iterator[str]:
    """What the API refuses of a conversation: it takes neighbours of one role as one turn."""
    turns = list(_turns(live))
    if turns and turns[0][0] != "user":
        yield "the conversation does not begin with the user"
    open_calls: list[str] = []
    seen: set[str] = set()
    for role, blocks in turns:
        if any(isinstance(value, str) and _surrogate.search(value) for _, value in leaves(blocks)):
            yield "half a surrogate pair"
        if role == "user":
            results = [text_of(block, "tool_use_id") for block in blocks if block.get("type") == "tool_result"]
            yield from (f"call {call} is not answered in the next turn" for call in open_calls if call not in results)
            yield from (f"result {call} answers no call of the turn before" for call in results if call not in open_calls)
            yield from (f"call {call} is answered twice" for call, count in Counter(results).items() if count > 1)
            open_calls = []
        else:
            open_calls = [text_of(block, "id") for block in blocks if block.get("type") == "tool_use"]
            yield from (f"call {call} has the id of another one" for call in open_calls if call in seen)
            seen.update(open_calls)
    yield from (f"call {call} is not answered" for call in open_calls)


def _turns(live: Sequence[Json]) -> Iterator[Turn]:
    role, blocks = "", list[Json]()
    for value in live:
        if value["type"] != role and blocks:
            yield role, blocks
            blocks = []
        role = value["type"]
        blocks += [block for block in _blocks(value.get("message")) if isinstance(block, dict)]
    if blocks:
        yield role, blocks


def _blocks(message: Any) -> list[Any]:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []
