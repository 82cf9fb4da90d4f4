"""What DeepSeek Harness would refuse in a log of format v4: written from its format, knowing nothing of the writer.

One log that is refused may hide every session of its store. What is left open at the end is no fault: the agent closes it itself.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from adapters.conversion import Json
from adapters.dsh.lifecycle import Lifecycle
from adapters.dsh.paths import is_absolute
from adapters.dsh.records import ROLES, SAFE_INTEGER_MAX, VERSION, is_current, is_header, version_of
from adapters.json_lines import parse_line
from adapters.leaves import leaves
from adapters.values import int_of, object_of, text_of
from eventstore.wire import codec

PROBLEMS_MAX = 100
_HEADER_KEYS = frozenset("type version id createdAt cwd parentSession isSeeded origin agentPreset delegationDepth".split())
_ENVELOPE = frozenset("type seq time data surfaceOp sourceEventSeqs ignorable".split())


def problems(records: Sequence[Any]) -> list[str]:
    """Return what is wrong with this log, given as its lines (bytes with their line ends); nothing for a sound one."""
    found: list[str] = []
    for problem in _problems(records):
        found.append(problem)
        if len(found) >= PROBLEMS_MAX:
            break
    return found


def _problems(records: Sequence[Any]) -> Iterator[str]:
    lines = [record if isinstance(record, bytes) else codec.dump(record).encode() + b"\n" for record in records]
    header = parse_line(lines[0].rstrip(b"\n")).value if lines else None
    if not isinstance(header, dict) or not is_header(header):
        yield "line 1: no header"
        return
    if version_of(header) != VERSION:
        yield f"line 1: format {version_of(header)[:20]}: not every build of the agent can upgrade it to {VERSION}"
        return
    yield from (f"line 1: {problem}" for problem in _header(header))
    if not lines[-1].endswith(b"\n"):
        yield f"line {len(lines)}: torn: its end was not written"
    lifecycle = Lifecycle(text_of(header, "id"))
    yield from _seed(header, lines)
    for number, raw in enumerate(lines[1:], 2):
        parsed = parse_line(raw.rstrip(b"\n"))
        found = [parsed.problem] if parsed.problem else [*_event(parsed.value, number - 2)]
        found = found or [*lifecycle.add(parsed.value)]
        yield from (f"line {number}: {problem}" for problem in found)


def _header(header: Json) -> Iterator[str]:
    if unknown := header.keys() - _HEADER_KEYS:
        yield f"the header has a field that is not known: {min(unknown)[:40]!a}"
    if not text_of(header, "id"):
        yield "the header has no id"
    if not _is_count(header.get("createdAt")):
        yield "createdAt is no time in ms"
    if not isinstance(header.get("isSeeded"), bool):
        yield "isSeeded is neither true nor false"
    if not _is_count(header.get("delegationDepth")):
        yield "delegationDepth is no whole number"
    if "cwd" in header and not is_absolute(text_of(header, "cwd")):
        yield "cwd is no absolute path"
    if header.get("origin", "subagent") != "subagent":
        yield "an origin that is not known"
    yield from (f"{name} is no text" for name in ("parentSession", "agentPreset") if not isinstance(header.get(name, ""), str))


def _seed(header: Json, lines: Sequence[bytes]) -> Iterator[str]:
    """A fork says where what it inherited ends; another session says nothing of that."""
    marks = [line for line in lines if b"session/end-seed" in line]
    events = [parse_line(line.rstrip(b"\n")).value for line in marks]
    is_marked = any(text_of(e, "type") == "session/end-seed" and object_of(e, "data").get("inherited") is True for e in events)
    if is_marked != (header.get("isSeeded") is True):
        yield "line 1: isSeeded and the mark of what was inherited go together"


def _event(event: Json, expected: int) -> Iterator[str]:
    """What is wrong with an event by itself."""
    kind = text_of(event, "type")
    if unknown := event.keys() - _ENVELOPE:
        yield f"an event has a field that is not known: {min(unknown)[:40]!a}"
    if int_of(event.get("seq")) != expected:
        yield f"its seq is not {expected}: they go on from 0 without a hole"
    time = int_of(event.get("time"))
    if time is None or abs(time) > SAFE_INTEGER_MAX:
        yield "its time is no whole number"
    if event.get("data") is None:
        yield "an event without data"
    if event.get("ignorable", True) is not True:
        yield "ignorable is not true"
    if not kind or (not is_current(kind) and event.get("ignorable") is not True):
        yield f"an event of a type that is not known, and that may not be passed over: {kind[:40]!a}"
    if kind in ROLES:
        yield from _message(kind, event)
    elif is_current(kind) and ("surfaceOp" in event or "sourceEventSeqs" in event):
        yield "an event that stands on no surface says where it stands there"
    if kind == "request/header":
        yield from _request(object_of(event.get("data"), "header"))


def _message(kind: str, event: Json) -> Iterator[str]:
    data = event.get("data")
    message = data if kind == "user/message" else object_of(data, "message")
    if not isinstance(message, dict) or not text_of(message, "id"):
        yield "a message without an id"
        return
    role = "developer" if kind == "developer/message" else ROLES[kind]
    if message.get("role") != role:
        yield f"the message's role is not {role}"
    source = object_of(message, "source")
    if not text_of(source, "kind"):
        yield "a message without a source"
    content = message.get("content")
    if not isinstance(content, list):
        yield "the content is no list of blocks"
        content = []
    yield from (problem for block in content for problem in _block(block, role))
    if kind == "system/message" and source.get("kind") != "system-prompt":
        yield "a system message whose source is no system prompt"
    if kind == "assistant/message":
        yield from _reply(data if isinstance(data, dict) else {}, source)
    if kind == "tool/result":
        yield from _result(data if isinstance(data, dict) else {}, message, source)


def _reply(data: Json, source: Json) -> Iterator[str]:
    if source.get("kind") != "model" or not text_of(source, "provider") or not text_of(source, "model"):
        yield "a reply whose source is no model"
    if not _is_count(data.get("turn")) or not _is_count(data.get("step")) or not isinstance(data.get("stream"), list):
        yield "invalid settlement fields: turn, step and a stream are needed"
    usage = data.get("usage", {})
    if not isinstance(usage, dict) or any(int_of(value) is None for _, value in leaves(usage) if value != {}):
        yield "a usage that counts no tokens"


def _result(data: Json, message: Json, source: Json) -> Iterator[str]:
    if source.get("kind") != "tool" or not text_of(source, "callId"):
        yield "a result whose source is no tool"
    if message.get("toolCallId") != source.get("callId"):
        yield "a result that names two calls"
    if data.get("error") is not None and message.get("isError") is not True:
        yield "a result with an error that is none"


def _block(block: Any, role: str) -> Iterator[str]:
    match block:
        case {"type": "text", "text": str()}:
            return
        case {"type": "image", "attachment": {"attachmentId": str(name)}} if name.startswith("sha256:"):
            return
        case {"type": "reasoning", "text": str()} if role == "assistant":
            return
        case {"type": "tool-call", "id": str(call_id), "name": str(name), "arguments": str()} if role == "assistant":
            if not call_id or not name:
                yield "a call without an id or a name"
            return
        case {"type": "tool-addition" | "tool-removal", "toolName": str()} if role == "developer":
            return
    yield "a block of a kind that is not known here"


def _request(header: Json) -> Iterator[str]:
    if "system" in header:
        yield "the system prompt stands in the request's header: since format v3 it is an event"
    config = object_of(header, "config")
    if not text_of(config, "provider") or not text_of(config, "model"):
        yield "a request without a provider and a model"


def _is_count(value: Any) -> bool:
    number = int_of(value)
    return number is not None and 0 <= number <= SAFE_INTEGER_MAX
