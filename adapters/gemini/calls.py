"""The calls of a reply: those in its content, which is what the model is sent, and those of `toolCalls` beside them."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from adapters.conversion import Json
from adapters.gemini.parts import NO_PLACE, NOT_TEXT, note_rest
from adapters.gemini.records import calls_in, is_thought, parts_of, tool_calls_of
from adapters.leaves import Path
from adapters.said import Copy, Unsaid
from adapters.values import text_of
from eventstore.wire import codec

TOLD_IN_CONTENT = "the call in the content says something else, and is what the model is sent"


@dataclass(frozen=True, slots=True)
class Call:
    """A call. `native_id` is as the record has it, "" for none; `tool_call`: its place in `toolCalls`, None for none there."""

    id: str
    native_id: str
    standard: Json
    tool_call: int | None


def read_calls(record: Json, digest: str, unsaid: Unsaid, made_up: list[str]) -> tuple[list[Call], list[Copy]]:
    """Return a reply's calls, each once, and what they say verbatim."""
    calls: list[Call] = []
    copies: list[Copy] = []
    beside = tool_calls_of(record)
    taken: set[int] = set()
    is_list = isinstance(record.get("content"), list)
    for at, told in calls_in(record.get("content")):
        here: Path = ("content", at, "functionCall") if is_list else ("content", "functionCall")
        place = _same(told, beside, taken)
        if place is not None:
            taken.add(place)
            _compare(told, beside[place], place, unsaid)
        note_rest(told, {"id", "name", "args"}, here, unsaid)
        part = parts_of(record.get("content"))[at]
        note_rest(part, {"functionCall", "text", "thought"} if is_thought(part) else {"functionCall"}, here[:-1], unsaid)
        _add(calls, copies, told, here, place, digest, unsaid, made_up)
    for place, told in enumerate(beside):
        if place in taken:
            continue
        if not isinstance(told, dict):
            unsaid["toolCalls", place] = NO_PLACE
            continue
        _add(calls, copies, told, ("toolCalls", place), place, digest, unsaid, made_up)
    return calls, copies


def _add(
    calls: list[Call],
    copies: list[Copy],
    told: Json,
    here: Path,
    place: int | None,
    digest: str,
    unsaid: Unsaid,
    made_up: list[str],
) -> None:
    native_id, name = text_of(told, "id"), text_of(told, "name")
    for key in ("id", "name"):
        if not isinstance(told.get(key), str | None):
            unsaid[(*here, key)] = NOT_TEXT
        if not text_of(told, key):
            made_up.append(f"gemini.functionCall.{key}")
    call_id = native_id or "call_" + sha256(f"{digest}:{len(calls)}".encode()).hexdigest()[:24]
    args = told.get("args")
    copies.append(Copy((*here, "args"), ("tool_calls", len(calls), "function", "arguments"), "json"))
    function = {"name": name or "unknown", "arguments": "{}" if args is None else codec.dump(args)}
    calls.append(Call(call_id, native_id, {"id": call_id, "type": "function", "function": function}, place))


def _same(told: Json, beside: list[Any], taken: set[int]) -> int | None:
    """The place of the call in `toolCalls` that is this one: by its id, or where it has none by its name."""
    key = "id" if text_of(told, "id") else "name"
    free = ((at, call) for at, call in enumerate(beside) if isinstance(call, dict) and at not in taken)
    return next((at for at, call in free if text_of(told, key) and call.get(key) == told[key]), None)


def _compare(told: Json, other: Json, place: int, unsaid: Unsaid) -> None:
    for key in ("id", "name", "args"):
        if key in other and other[key] != told.get(key):
            unsaid["toolCalls", place, key] = TOLD_IN_CONTENT
