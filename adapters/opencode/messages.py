"""One live message to standard messages: a function of the record and the messages it answers, nothing else.

- A user's message is one; where the harness put texts of its own between the user's (`synthetic`, `ignored`), one for each run.
- An assistant's message is one model step, so it is one message of role `assistant`, followed by one of role `tool` for each call
  that has a result. (Older versions put several steps in one record: each begins at its `step-start`.)
- `append_id` names the record's id and the message's place in it, not its text: what may still change is left out
  (`records.settled`), and a message that is still being written has another id than when it is done.
- `native` of the first holds the record, without what its messages say (`said`); the others point to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from adapters.conversion import Json, Message
from adapters.leaves import Path
from adapters.opencode.live import created_ms, is_summary
from adapters.opencode.parts import NO_PLACE, Placed, child_session, read_result, read_shown, read_step, thinking_of
from adapters.opencode.records import AGENT, as_kept, info_of, is_number, settled
from adapters.said import Copy, Said, Unsaid, lift
from adapters.values import int_of, object_of, text_of
from eventstore.wire import codec

USAGE: Sequence[tuple[str, tuple[str, ...]]] = (
    ("input_tokens", ("input",)),
    ("output_tokens", ("output",)),
    ("reasoning_tokens", ("reasoning",)),
    ("cache_read_input_tokens", ("cache", "read")),
    ("cache_creation_input_tokens", ("cache", "write")),
)
FINISHED = ("stop", "tool-calls")
ABORTED = "MessageAbortedError"
_PLAIN_ID_MAX = 100


@dataclass(frozen=True, slots=True)
class Around:
    """What else tells of a record."""

    key: str
    line: int  # its place in the document, from 1
    version: str  # the agent's
    parent_id: str | None  # the message it answers
    asked: Json | None = None  # the compaction part that a summary answers
    cut: int | None = None  # how many of its parts are live, where a revert cuts it
    is_open: bool = False


@dataclass(slots=True)
class Converted:
    """The messages of a record; what of it they do not say; what they say that it did not; what may still change of it."""

    messages: list[Message] = field(default_factory=list)
    unsaid: Unsaid = field(default_factory=dict)
    made_up: list[str] = field(default_factory=list)
    later: list[list[Any]] = field(default_factory=list)
    is_reordered: bool = False


@dataclass(slots=True)
class _Body:
    body: Json
    copies: Sequence[Copy]
    time_ms: int | None = None


def convert(record: Json, around: Around) -> Converted:
    """Return what a live user or assistant message says."""
    done = Converted()
    whole, done.later = settled(record)
    parts = whole["parts"][: around.cut]
    for index in range(len(parts), len(whole["parts"])):
        done.unsaid["parts", index] = "reverted: taken back by the user; OpenCode removes it at the next prompt"
    placed: Placed = [(("parts", index), part) for index, part in enumerate(parts)]
    info = info_of(whole)
    bodies = _user(placed, done) if info["role"] == "user" else _assistant(info, placed, around, done)
    common: Json = {"agent_source": AGENT, "native_id": text_of(info, "id") or around.key}
    if around.parent_id and info["role"] == "assistant":
        common["parent_id"] = around.parent_id
    for body in bodies:
        body.body["metadata"] = common | body.body["metadata"]
    done.messages = _finished(bodies, whole, around, done.unsaid)
    return done


def rfc3339(ms: int | None) -> str | None:
    """The moment as RFC 3339 with milliseconds, or None where there is none in the years that have one."""
    if ms is None or not 0 <= ms < 253402300800000:
        return None
    moment = datetime.fromtimestamp(ms // 1000, tz=UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def _user(placed: Placed, done: Converted) -> list[_Body]:
    """A message for each run of parts that one hand wrote."""
    runs: list[tuple[Json, list[tuple[Path, Any]]]] = []
    for place, part in placed:
        kind = text_of(part, "type")
        if kind == "compaction":
            continue
        if kind not in ("text", "file"):
            done.unsaid[place] = NO_PLACE
            continue
        author: Json = {"origin": "human"}
        if part.get("synthetic") or part.get("ignored"):
            author = {"origin": "harness"} | ({"ignored": True} if part.get("ignored") else {})
        if not runs or runs[-1][0] != author:
            runs.append((author, []))
        runs[-1][1].append((place, part))
    bodies: list[_Body] = []
    for author, run in runs:
        content, copies = read_shown(run, done.unsaid)
        if content is not None:
            bodies.append(_Body({"role": "user", "content": content, "metadata": author}, copies))
    return bodies or [_Body({"role": "user", "content": None, "metadata": {"origin": "harness"}}, ())]


def _assistant(info: Json, placed: Placed, around: Around, done: Converted) -> list[_Body]:
    provider, model = text_of(info, "providerID"), text_of(info, "modelID")
    bodies: list[_Body] = []
    for step in _steps(placed):
        said = read_step(step, provider, model, around.key, done.unsaid)
        done.is_reordered |= said.is_reordered
        done.made_up += [f"tool.{place[-1]}" for place in said.made_up]
        body = _spoken(said)
        body.body["metadata"] = (
            {"origin": "agent"} | ({"model": model} if model else {}) | ({"provider": provider} if provider else {})
        )
        bodies.append(body)
        bodies += _results(step, said, done)
    first = bodies[0].body
    first["metadata"] |= _metadata(info, around, done.unsaid)
    error = info.get("error")
    if error and first["content"] is None and not first.get("tool_calls") and len(bodies) == 1:
        first["metadata"]["origin"] = "harness"
        told = object_of(error, "data").get("message")
        if isinstance(told, str):
            first["content"] = told
    return bodies


def _spoken(said: Said) -> _Body:
    body: Json = {"role": "assistant", "content": said.content}
    if said.tool_calls:
        body["tool_calls"] = said.tool_calls
    if said.thinking:
        body["thinking"] = thinking_of(said.thinking)
    return _Body(body, said.copies)


def _results(step: Placed, said: Said, done: Converted) -> list[_Body]:
    """The results of a step's calls, in the order of the calls."""
    bodies: list[_Body] = []
    tools = [(place, part) for place, part in step if text_of(part, "type") == "tool"]
    for (place, part), call in zip(tools, said.tool_calls, strict=True):
        result = read_result(part, place, done.unsaid)
        if result is None:
            continue
        told, copies = result
        if child := child_session(part):
            told["metadata"]["subagent"] = {"agent_id": child}
        end = int_of(object_of(object_of(part, "state"), "time").get("end"))
        bodies.append(_Body({"role": "tool", "tool_call_id": call["id"], **told}, copies, end))
    return bodies


def _steps(placed: Placed) -> list[Placed]:
    """Cut an assistant's parts where a new step begins after calls."""
    steps: list[list[tuple[Path, Any]]] = [[]]
    for place, part in placed:
        if text_of(part, "type") == "step-start" and any(text_of(earlier, "type") == "tool" for _, earlier in steps[-1]):
            steps.append([])
        steps[-1].append((place, part))
    return [*steps]


def _metadata(info: Json, around: Around, unsaid: Unsaid) -> Json:
    metadata: Json = {}
    tokens = object_of(info, "tokens")
    usage: Json = {}
    for name, path in USAGE:
        holder = object_of(tokens, "cache") if len(path) == 2 else tokens
        if is_number(holder.get(path[-1])):
            usage[name] = holder[path[-1]]
        else:
            unsaid["info", "tokens", *path] = "not a number"
    if usage:
        metadata["usage"] = usage
    if error := info.get("error"):
        metadata["status"] = "interrupted" if text_of(error, "name") == ABORTED else "error"
    elif info.get("finish") in FINISHED:
        metadata["status"] = "complete"
    elif info.get("finish") is not None:
        unsaid["info", "finish"] = "no standard status"
    if is_summary({"info": info}):
        asked = around.asked or {}
        known = {"trigger": "auto" if asked.get("auto") else "manual", "tail_start_id": text_of(asked, "tail_start_id")}
        metadata["compaction"] = {key: value for key, value in known.items() if value}
    elif "summary" in info:
        unsaid["info", "summary"] = "a summary that was not finished"
    return metadata


def _finished(bodies: Sequence[_Body], record: Json, around: Around, unsaid: Unsaid) -> list[Message]:
    """Complete the bodies: append_id, created_at, native."""
    created = created_ms(record)
    if rfc3339(created) is None:
        unsaid["info", "time", "created"] = "no time that RFC 3339 can say"
    wholes = [_dated(body, created) for body in bodies]
    names = [_append_id(record, around, part) for part in range(len(bodies))]
    kept = as_kept(record)
    said: list[list[list[Any]]] = []
    for body in bodies if "record" in kept else ():
        kept["record"], taken = lift(kept["record"], body.body, body.copies)
        said.append(taken)
    messages: list[Message] = []
    for part, (name, spoken) in enumerate(zip(names, wholes, strict=True)):
        native: Json = {"agent": AGENT, "version": around.version, "key": around.key}
        native |= {"part": part, "head": names[0]} if part else kept
        if said and said[part]:
            native["said"] = said[part]
        whole: Json = {"schema_version": 1, "append_id": name, **spoken, "native": native}
        messages.append(Message(whole, around.key, around.parent_id, around.line, part))
    return messages


def _dated(body: _Body, created: int | None) -> Json:
    at = rfc3339(body.time_ms) or rfc3339(created)
    return body.body | ({"created_at": at} if at else {})


def _append_id(record: Json, around: Around, part: int) -> str:
    key = around.key
    if len(key) > _PLAIN_ID_MAX or not key.isascii() or not key.isprintable():
        key = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:36]
    name = f"{AGENT}:{key}:{part}"
    if around.key.startswith("#") or around.is_open or around.cut is not None:
        text = codec.dump([record, around.cut])
        name += f":{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return name
