"""A log of format v4 as it is written: numbers, turns and steps, and what the surface holds.

1. Events are numbered on from 0, without a hole.
2. A prompt opens a turn, where none waits for a reply. A turn counts on from 1, a step from 1 within its turn; a reply stands in a
   step of its own, with its calls and their results: each call is told again as it starts, by the same name and arguments, and
   has its result before the step ends.
3. Whatever is open is closed at the end.
4. The surface begins with a system prompt: without one, the agent writes its own behind what was said when it goes on, and refuses
   the log from then on. It adds its own behind ours too; ours is empty, since none of another agent's is live here.
"""

from typing import Any

from adapters.conversion import Json
from adapters.dsh.records import ROLES
from adapters.dsh.surface import fold
from adapters.values import int_of, object_of, text_of
from eventstore.wire.codec import Number

COMPLETED = "completed"


class Log:
    """Events, and where the next one stands."""

    def __init__(self, head_id: str) -> None:
        self._head_id = head_id
        self.events: list[Json] = []
        self.surface: list[int] = []
        self._next_seq = 0
        self._turn = self._step = 0
        self._in_turn = self._in_step = False
        self._is_answered = False  # did the open turn have a reply?
        self._has_system_head = False  # the system prompt at the surface's head, which nothing else may stand for
        self.open_calls: dict[str, int | None] = {}  # of the open step, without a result: by id, the seq of its start

    def follow(self, numbered: list[tuple[int, Json]]) -> None:
        """Go on behind events that are there already, each with its line's number."""
        seq_of = {number: int_of(record.get("seq")) or 0 for number, record in numbered}
        self.surface = [seq_of[number] for number in fold(numbered).nodes]
        self._next_seq = max(seq_of.values(), default=-1) + 1
        kinds = {seq_of[number]: record.get("type") for number, record in numbered}
        self._has_system_head = bool(self.surface) and kinds[self.surface[0]] == "system/message"
        for number, record in numbered:
            data = object_of(record, "data")
            self._follow_calls(record, data, seq_of[number])
            match record.get("type"):
                case "turn/start":
                    self._turn, self._step, self._in_turn = int_of(data.get("turn")) or self._turn + 1, 0, True
                    self._is_answered = False
                case "turn/end":
                    self._in_turn = self._in_step = False
                case "step/start":
                    self._step, self._in_step = int_of(data.get("step")) or self._step + 1, True
                case "step/end":
                    self._in_step = False
                case "assistant/message":
                    self._is_answered = True

    def _follow_calls(self, record: Json, data: Json, seq: int) -> None:
        match record.get("type"):
            case "assistant/message":
                content = object_of(data, "message").get("content")
                blocks = content if isinstance(content, list) else []
                self.open_calls |= {text_of(block, "id"): None for block in blocks if text_of(block, "type") == "tool-call"}
            case "tool/call":
                self.open_calls[text_of(data, "callId")] = seq
            case "tool/result":
                self.open_calls.pop(text_of(object_of(data, "message"), "toolCallId"), None)
            case "step/end" | "turn/start":
                self.open_calls.clear()

    def note(self, kind: str, data: Json, time_ms: int) -> None:
        """Write an event that any version passes over."""
        self._event(kind, data, time_ms, ignorable=True)

    def title(self, title: str, time_ms: int) -> None:
        self._event("session/title", {"title": title, "messageSeqs": [], "source": {"kind": "user"}}, time_ms)

    def user(self, message: Json, time_ms: int, *, replaces: bool = False) -> int:
        """Write a prompt; `replaces`: it stands for all that is on the surface. Returns its seq."""
        if self._in_turn and self._is_answered:
            self.close(time_ms)
        self._open_step(time_ms)
        return self._surface("user/message", message, time_ms, replaces=replaces)

    def assistant(self, message: Json, usage: Json, time_ms: int, *, is_interrupted: bool = False) -> None:
        """Write a reply, and its calls as they start."""
        if self._is_answered:
            self.close_step(time_ms)
        self._open_step(time_ms)
        data = self._here({"message": message}) | ({"usage": usage} if usage else {})
        data |= {"interrupted": True} if is_interrupted else {}
        self._surface("assistant/message", data | {"stream": []}, time_ms)
        self._is_answered = True

    def call(self, block: Json, time_ms: int) -> int:
        """Write that a call of the last reply starts. Returns its seq."""
        call = {"callId": block["id"], "name": block["name"], "arguments": block["arguments"]}
        return self._event("tool/call", self._here(call), time_ms)

    def result(self, message: Json, call_seq: int, time_ms: int) -> None:
        self._surface("tool/result", self._here({"message": message}), time_ms, sources=[call_seq])

    def close_step(self, time_ms: int) -> None:
        if self._in_step:
            self._event("step/end", self._here({}), time_ms)
            self._in_step = False

    def close(self, time_ms: int, kind: str = COMPLETED) -> None:
        """End the step and the turn that are open."""
        self.close_step(time_ms)
        if self._in_turn:
            self._event("turn/end", {"turn": _number(self._turn), "reason": {"kind": kind}}, time_ms)
            self._in_turn = False

    def _open_step(self, time_ms: int) -> None:
        if not self._in_turn:
            self._turn, self._step, self._in_turn, self._is_answered = self._turn + 1, 0, True, False
            self._event("turn/start", {"turn": _number(self._turn)}, time_ms)
        if not self._in_step:
            self._step, self._in_step = self._step + 1, True
            self._event("step/start", self._here({}), time_ms)

    def _here(self, data: Json) -> Json:
        return {"turn": _number(self._turn), "step": _number(self._step), **data}

    def _surface(self, kind: str, data: Json, time_ms: int, *, replaces: bool = False, sources: list[int] | None = None) -> int:
        assert kind in ROLES
        more: dict[str, Any] = {"surfaceOp": "append"}
        if not self.surface:
            self._write_head(time_ms)
        head = self.surface[:1] if self._has_system_head else []
        old = self.surface[len(head) :] if replaces else []
        if old:
            more["surfaceOp"] = {"op": "replace", "startSeq": _number(old[0]), "endSeq": _number(old[-1])}
            sources = sorted(old)
        if sources:
            more["sourceEventSeqs"] = [_number(seq) for seq in sources]
        self.surface = head if old else self.surface
        seq = self._event(kind, data, time_ms, **more)
        self.surface.append(seq)
        return seq

    def _write_head(self, time_ms: int) -> None:
        message = {"role": "system", "id": self._head_id, "source": {"kind": "system-prompt"}, "content": []}
        self.surface = [self._event("system/message", self._here({"message": message}), time_ms, surfaceOp="append")]
        self._has_system_head = True

    def _event(self, kind: str, data: Json, time_ms: int, **more: Any) -> int:
        seq = self._next_seq
        self._next_seq += 1
        self.events.append({"type": kind, "seq": _number(seq), "time": _number(time_ms), "data": data, **more})
        return seq


def _number(value: int) -> Number:
    return Number(str(value))
