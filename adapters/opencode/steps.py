"""Foreign messages to OpenCode's: one user message or one model step each, parts without ids and times.

- Neighbouring assistant messages of one reply (`metadata.reply_id`) are one step; a call and its result are one part.
- A compaction's summary becomes what OpenCode itself writes: a user message that asks, and the summary that answers it.
- System messages, and texts of another agent's harness, are not written: OpenCode adds its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import Fate
from adapters.opencode import said_in
from adapters.pairing import PairedCall, Pairing
from adapters.session import is_compaction, is_harness, metadata_of
from adapters.values import text_of

SYSTEM = Fate("dropped", "a system prompt: OpenCode makes its own for every run")
HARNESS = Fate("dropped", "put in by another agent's harness; OpenCode's adds its own")
DOUBLED = Fate("dropped", "another result answered this call already")
AS_USER = Fate("degraded", "a result without its call: written as a text that is marked as put in")
LAST_COUNTS = Fate("degraded", "a reply's usage is counted once, as its last message says")
RENAMED = Fate("degraded", "an id that providers refuse, or that was used before: another is written")
UNKNOWN = "unknown"


@dataclass(slots=True)
class Step:
    """One message of OpenCode. `seed` names what it is made from; `info` is what stands in it beside ids and times."""

    role: str
    seed: str
    created_ms: int | None = None
    parts: list[Json] = field(default_factory=list)
    info: Json = field(default_factory=dict)
    reply_id: str = ""
    place: int = 0  # among all that is written of the session, now or before


@dataclass(slots=True)
class Around:
    """What steps are made with; `notes` are by the message's index."""

    pairing: Pairing
    provider: str  # the local one to go on with
    model: str
    links: Mapping[str, str]  # which session a call started
    notes: dict[int, Notes] = field(default_factory=dict)
    synthesised: list[tuple[str, str, int]] = field(default_factory=list)  # path, reason, index


def steps_of(messages: Sequence[Json], around: Around) -> list[Step]:
    """Return what is written for these messages, in order."""
    steps: list[Step] = []
    for index, message in enumerate(messages):
        notes = around.notes.setdefault(index, {})
        fate = _left_out(message)
        if fate:
            notes[()] = fate
        elif _is_summary(message):
            steps += _compaction(message, index, notes)
        elif message["role"] == "user":
            steps.append(Step("user", seed_of(message, index), moment(message), said_in.shown_parts(message, notes)))
        elif message["role"] == "assistant":
            _assistant(messages, index, around, steps)
        elif index in around.pairing.doubled:
            notes[()] = DOUBLED
        elif index in around.pairing.orphans:
            steps.append(_orphan(message, index, notes))
    return steps


def moment(message: Json) -> int | None:
    """When it was said, in ms since 1970."""
    try:
        at = datetime.fromisoformat(text_of(message, "created_at"))
    except ValueError:
        return None
    return int(at.timestamp() * 1000 + 0.5) if at.tzinfo else None


def _left_out(message: Json) -> Fate | None:
    if _is_summary(message):
        return None
    if message["role"] == "system":
        return SYSTEM
    is_said = message["role"] == "tool" or message.get("tool_calls")
    return HARNESS if is_harness(message) and not is_said else None


def _is_summary(message: Json) -> bool:
    return is_compaction(message) and message["role"] != "tool" and not message.get("tool_calls")


def seed_of(message: Json, index: int) -> str:
    """What names a message, the same however often the session is written."""
    return text_of(message, "append_id") or f"{message.get('seq', '')}:{index}"


def _assistant(messages: Sequence[Json], index: int, around: Around, steps: list[Step]) -> None:
    message, notes = messages[index], around.notes[index]
    metadata = metadata_of(message)
    reply_id = text_of(metadata, "reply_id")
    model, provider = text_of(metadata, "model") or UNKNOWN, said_in.provider_of(message) or UNKNOWN
    before = steps[-1] if steps else None
    is_more = before and reply_id and before.reply_id == reply_id and before.info["modelID"] == model
    if before and is_more:
        step = before
    else:
        info = {"modelID": model, "providerID": provider, "tokens": said_in.tokens_of(None), "finish": "stop"}
        step = Step("assistant", seed_of(message, index), moment(message), info=info, reply_id=reply_id)
        steps.append(step)
    is_same = (provider, model) == (around.provider, around.model)
    step.parts += said_in.reasoning_parts(message, is_same, notes)
    step.parts += said_in.shown_parts(message, notes)
    for place, call in enumerate(around.pairing.calls.get(index, ())):
        step.parts.append(_tool(messages, call, (index, place), around))
        step.info["finish"] = "tool-calls"
    if "usage" in metadata:
        step.info["tokens"] = said_in.tokens_of(metadata["usage"])
        _count_once(messages, index, reply_id, notes)


def _count_once(messages: Sequence[Json], index: int, reply_id: str, notes: Notes) -> None:
    following = next((later for later in messages[index + 1 :] if later["role"] == "assistant"), None)
    if reply_id and following and metadata_of(following).get("reply_id") == reply_id and "usage" in metadata_of(following):
        notes["metadata", "usage"] = LAST_COUNTS


def _tool(messages: Sequence[Json], call: PairedCall, at: tuple[int, int], around: Around) -> Json:
    """The part of a call and its result."""
    index, place = at
    notes = around.notes[index]
    name = call.call["function"]["name"]
    if not name:
        notes["tool_calls", place, "function", "name"] = Fate("degraded", 'a tool without a name: written as "unknown"')
    if call.is_renamed:
        notes["tool_calls", place, "id"] = RENAMED
    value = said_in.call_input(call.call, place, notes)
    if call.result is None:
        around.synthesised.append(("fields/tool.content", "a call without a result: answered as interrupted", index))
        state: Json = {"status": "error", "input": value, "error": said_in.INTERRUPTED}
    else:
        result = messages[call.result]
        state = said_in.result_state(result, value, name, around.notes.setdefault(call.result, {}))
    if child := around.links.get(call.call["id"]):
        state["metadata"] = state.get("metadata", {}) | {"sessionId": child}
    return {"type": "tool", "callID": call.id, "tool": name or UNKNOWN, "state": state}


def _orphan(message: Json, index: int, notes: Notes) -> Step:
    text, files = said_in.result_content(message, notes)
    notes["content",] = notes["tool_call_id",] = notes["metadata", "is_error"] = AS_USER
    parts = [{"type": "text", "text": f"{said_in.ORPHAN}\n{text}", "synthetic": True}, *(part for _, part in files)]
    return Step("user", seed_of(message, index), moment(message), parts)


def _compaction(message: Json, index: int, notes: Notes) -> list[Step]:
    seed, at = seed_of(message, index), moment(message)
    compaction = metadata_of(message)["compaction"]
    for place, item in enumerate(message["content"]) if isinstance(message.get("content"), list) else ():
        if not isinstance(item, dict) or item.get("type") != "text":
            notes["content", place] = Fate("dropped", "a summary holds text only")
    for field_name in ("tool_calls", "tool_call_id", "thinking"):
        if message.get(field_name):
            notes[field_name,] = Fate("dropped", "a summary holds text only")
    asked = {"type": "compaction", "auto": compaction.get("trigger") == "auto"}
    info = {
        "modelID": text_of(metadata_of(message), "model") or UNKNOWN,
        "providerID": said_in.provider_of(message) or UNKNOWN,
        "tokens": said_in.tokens_of(metadata_of(message).get("usage")),
        "finish": "stop",
        "summary": True,
        "mode": "compaction",
        "agent": "compaction",
    }
    parts: list[Any] = [{"type": "text", "text": text} for text in said_in.texts_in(message)]
    return [Step("user", f"{seed}:asked", at, [asked]), Step("assistant", seed, at, parts, info)]
