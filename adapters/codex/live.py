"""The live history: which items the model is sent when the session goes on, and what the lines before tell of each.

1. Items follow each other in the order of the file.
2. `compacted` replaces all before it by the items that it holds; where it holds none, all but the user's prompts by its text.
3. `thread_rolled_back` takes back the last turns: what was live before the n-th last one is live again, a summary that was made
   since is none any more. A turn begins with `task_started`, or with a message of the user where more than one stands in it.
4. A reply is a run of items of the model; a message of others, or a result, ends it. Whatever is said of an item is told by
   lines before it, so it stays as the file grows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.codex.origin import is_turn
from adapters.codex.records import Line, call_id_of, keeps_prompts, replaced_by, says
from adapters.conversion import Json
from adapters.leaves import Path
from adapters.values import text_of
from eventstore.errors import InvalidJson
from eventstore.wire import codec

COMPACTED = "compacted: a summary took its place"
ROLLED_BACK = "rolled_back: the user took the turn back"

_exit_code = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,10})$", re.MULTILINE)
_HEAD_CHARS = 400  # of a result, where its exit code stands


@dataclass(frozen=True, slots=True)
class Around:
    """What the lines before tell of an item."""

    model: str = ""
    provider: str = ""
    reply: str = ""  # the key of the first item of the reply
    is_failed: bool | None = None  # of a result
    is_subagent: bool = False
    is_compaction: bool = False  # the first message of those that stand for all before


@dataclass(frozen=True, slots=True)
class Unit:
    """An item that is a message. `part` counts the messages of one line."""

    line: Line
    item: Json
    at: Path
    part: int
    around: Around

    @property
    def key(self) -> str:
        return f"{self.line.key}#{self.part}" if self.part else self.line.key


@dataclass(slots=True)
class History:
    """The live items in their order; of the others, why they are not live."""

    live: list[Unit] = field(default_factory=list)
    dead: list[tuple[Unit, str]] = field(default_factory=list)
    subagents: dict[str, str] = field(default_factory=dict)  # by the id of a sub-agent, the call that started it


def history_of(lines: Sequence[Line], *, is_subagent: bool = False) -> History:
    """Return what is live of a file."""
    walk = _Walk(is_subagent)
    for line in lines:
        walk.add(line)
    live = {unit.key for unit in walk.live}
    dead = [(unit, walk.reasons.get(unit.key, COMPACTED)) for unit in walk.units if unit.key not in live]
    return History(walk.live, dead, walk.subagents)


_State = tuple[list[Unit], int]  # a list that was live, and its length then


class _Walk:
    """`live` is what is live as of the last line. A summary begins a new list, so that a rollback finds the old one as it was."""

    def __init__(self, is_subagent: bool) -> None:
        self.units: list[Unit] = []
        self.live: list[Unit] = []
        self.reasons: dict[str, str] = {}
        self.subagents: dict[str, str] = {}
        self._turns: list[_State] = []  # what was live when each turn of the user began
        self._started: _State | None = None  # and when a task began that has no message of the user yet
        self._around = Around(is_subagent=is_subagent)
        self._failed: dict[str, bool] = {}
        self._spawning: set[str] = set()

    def add(self, line: Line) -> None:
        payload = line.payload or {}
        match line.type:
            case "session_meta":
                self._around = replace(self._around, provider=text_of(payload, "model_provider") or self._around.provider)
            case "turn_context":
                self._around = replace(self._around, model=text_of(payload, "model") or self._around.model, reply="")
            case "response_item":
                self._item(line, payload)
            case "compacted":
                self._compacted(line, payload)
            case "event_msg":
                self._event(payload)

    def _item(self, line: Line, item: Json) -> None:
        kind = says(item)
        if kind is None:
            return
        around = self._around
        if kind in ("reasoning", "call", "sealed") or item.get("role") == "assistant":
            around = self._around = replace(around, reply=around.reply or line.key)
        else:
            self._around = replace(around, reply="")
        if kind == "call" and item.get("name") == "spawn_agent":
            self._spawning.add(call_id_of(item))
        if kind == "result":
            around = replace(around, is_failed=self._is_failed(item))
            self._spawned(item)
        if is_turn(item):
            self._turns.append(self._started or (self.live, len(self.live)))
            self._started = None
        self._append(Unit(line, item, line.at, 0, around))

    def _compacted(self, line: Line, payload: Json) -> None:
        self._around = replace(self._around, reply="")
        before, self.live = self.live, []
        if keeps_prompts(payload):
            self.live = [unit for unit in before if is_turn(unit.item)]
        self.reasons |= {unit.key: COMPACTED for unit in before}
        marked = False
        part = 0
        for item, path in replaced_by(payload):
            kind = says(item)
            if kind is None:
                continue
            is_mark = not marked and (kind == "sealed" or (kind == "message" and _can_stand_for_all(item)))
            marked |= is_mark
            around = replace(self._around, reply=f"{line.key}#{part}", is_compaction=is_mark)
            self._append(Unit(line, item, (*line.at, *path), part, around))
            part += 1

    def _event(self, payload: Json) -> None:
        match payload:
            case {"type": "task_started" | "turn_started"}:
                self._started = self.live, len(self.live)
            case {"type": "thread_settings_applied", "thread_settings": dict(settings)}:
                provider = text_of(settings, "model_provider_id")
                self._around = replace(self._around, provider=provider or self._around.provider)
            case {"type": "thread_rolled_back", "num_turns": codec.Number() as turns}:
                self._roll_back(turns.as_int() or 0)
            case {"type": "exec_command_end", "call_id": str(call), "exit_code": codec.Number() as code}:
                self._failed[call] = code.as_int() != 0
            case {"type": "item_completed", "item": {"id": str(call), "exit_code": codec.Number() as code}}:
                self._failed[call] = code.as_int() != 0
            case {"type": "patch_apply_end", "call_id": str(call), "success": bool(success)}:
                self._failed[call] = not success

    def _roll_back(self, turns: int) -> None:
        self._around = replace(self._around, reply="")
        self._started = None
        if turns <= 0 or not self._turns:
            return
        first = max(len(self._turns) - turns, 0)
        before, length = self._turns[first]
        self.reasons |= {unit.key: ROLLED_BACK for unit in self.live}
        del self._turns[first:]
        self.live = before
        self.reasons |= {unit.key: ROLLED_BACK for unit in before[length:]}
        del before[length:]

    def _append(self, unit: Unit) -> None:
        self.units.append(unit)
        self.live.append(unit)

    def _is_failed(self, item: Json) -> bool | None:
        """Whether the tool failed: an event before the result says so, or the result itself, in the words of its version."""
        call = text_of(item, "call_id")
        if call in self._failed:
            return self._failed[call]
        output = item.get("output")
        if isinstance(output, dict) and isinstance(output.get("success"), bool):
            return not output["success"]
        if not isinstance(output, str):
            return None
        found = _exit_code.search(output[:_HEAD_CHARS].partition("\nOutput:")[0])
        if found:
            return int(found[1]) != 0
        told = _object(output).get("metadata") if output.startswith('{"output"') else None
        code = told.get("exit_code") if isinstance(told, dict) else None
        return code.as_int() != 0 if isinstance(code, codec.Number) else None

    def _spawned(self, item: Json) -> None:
        call, output = text_of(item, "call_id"), item.get("output")
        if call in self._spawning and isinstance(output, str) and (agent_id := text_of(_object(output), "agent_id")):
            self.subagents[agent_id] = call


def _can_stand_for_all(item: Json) -> bool:
    """Is it a message that every agent goes on with: of the user or the assistant, and no context of the harness?"""
    return item.get("type") == "message" and (item.get("role") == "assistant" or is_turn(item))


def _object(text: str) -> Json:
    try:
        value: Any = codec.parse(text)
    except InvalidJson:
        return {}
    return value if isinstance(value, dict) else {}
