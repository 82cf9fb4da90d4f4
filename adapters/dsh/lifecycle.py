"""What one event of a log may follow: turns, steps and calls that open and close, a surface whose parts are there, and names."""

from collections.abc import Iterator
from typing import Any

from adapters.conversion import Json
from adapters.dsh.records import ROLES, VERSION
from adapters.dsh.surface import replaced
from adapters.values import int_of, object_of, text_of
from eventstore.wire.codec import canonical


class Lifecycle:
    """Follows a log of format v4, event by event."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._turn = self._step = 0
        self._in_turn = self._in_step = False
        self._calls: dict[str, tuple[Any, Any, bool]] = {}  # of the open step: name, arguments, has it started?
        self._surface: list[int] = []
        self._events: dict[int, Json] = {}  # those that stand or stood on the surface
        self._head: int | None = None  # the system prompt that the surface begins with

    def add(self, event: Json) -> Iterator[str]:
        """Yield what is wrong with an event behind those before it; by itself it is sound."""
        kind, data = text_of(event, "type"), object_of(event, "data")
        if kind in _OF_A_STEP and event.get("surfaceOp", "append") == "append":
            here = (int_of(data.get("turn")), int_of(data.get("step")))
            if not self._in_step or here != (self._turn, self._step):
                yield "an event that does not stand in the step that it names"
        if kind in ROLES:
            yield from self._on_surface(kind, event)
        match kind:
            case "turn/start" | "turn/end":
                yield from self._turns(kind, int_of(data.get("turn")))
            case "step/start" | "step/end":
                yield from self._steps(kind, data)
            case "assistant/message":
                yield from self._advertise(object_of(data, "message")["content"])
            case "tool/call":
                yield from self._start(data)
            case "tool/result" if event.get("surfaceOp") == "append":
                yield from self._settle(data)
            case "request/header" | "request/context" if not self._in_turn:
                yield "a request outside a turn"
            case "session/title":
                yield from self._title(data)
            case "session-log-deepseek/delivery-accepted":
                yield from self._delivery(event, data)

    def _turns(self, kind: str, turn: int | None) -> Iterator[str]:
        if kind == "turn/start":
            if self._in_turn or turn != self._turn + 1:
                yield f"a turn that does not follow turn {self._turn}, or opens inside it"
            self._turn, self._step, self._in_turn, self._in_step = turn or self._turn + 1, 0, True, False
        else:
            if not self._in_turn or turn != self._turn:
                yield "the end of a turn that is not open"
            if self._in_step:
                yield "the end of a turn whose step is open"
            yield from self._unresolved()
            self._in_turn = self._in_step = False

    def _steps(self, kind: str, data: Json) -> Iterator[str]:
        turn, step = int_of(data.get("turn")), int_of(data.get("step"))
        if kind == "step/start":
            if not self._in_turn or self._in_step or turn != self._turn or step != self._step + 1:
                yield f"a step that does not follow step {self._step} of turn {self._turn}, or opens inside it"
            self._step, self._in_step = step or self._step + 1, True
        else:
            if not self._in_step or turn != self._turn or step != self._step:
                yield "the end of a step that is not open"
            yield from self._unresolved()
            self._in_step = False

    def _unresolved(self) -> Iterator[str]:
        yield from (f"the call {call_id[:60]!a} has no result before the end of its step" for call_id in self._calls)
        self._calls.clear()

    def _advertise(self, content: list[Json]) -> Iterator[str]:
        for block in content:
            if block.get("type") == "tool-call":
                if block["id"] in self._calls:
                    yield "two calls of one id in a step"
                self._calls[block["id"]] = block["name"], block["arguments"], False

    def _start(self, data: Json) -> Iterator[str]:
        call_id = text_of(data, "callId")
        if self._calls.get(call_id) != (data.get("name"), data.get("arguments"), False):
            yield "the start of a call that no reply of the step made by this name and these arguments, or that has started"
        self._calls[call_id] = data.get("name"), data.get("arguments"), True

    def _settle(self, data: Json) -> Iterator[str]:
        message = object_of(data, "message")
        call = self._calls.pop(text_of(message, "toolCallId"), None)
        if call is None:
            yield "a result of a call that is not open"
        elif not call[2] and object_of(data, "error").get("code") != "TOOL_NOT_STARTED":
            yield "a result of a call that has not started"

    def _on_surface(self, kind: str, event: Json) -> Iterator[str]:
        seq, nodes = int_of(event.get("seq")) or 0, self._surface
        sources = _sources(event.get("sourceEventSeqs"))
        if sources is None or any(source >= seq for source in sources) or (kind == "assistant/message" and sources):
            yield "sourceEventSeqs that name no earlier events, or a reply's"
        bounds = replaced(event)
        if bounds is None:
            if kind == "system/message" and nodes and self._head is None:
                yield "a system prompt behind other messages, where none begins them"
            if kind == "system/message" and not nodes:
                self._head = seq
            if event.get("surfaceOp") != "append":
                yield "an event of the surface that does not say where it stands there"
            nodes.append(seq)
        else:
            yield from self._replace(kind, event, seq, bounds, sources or [])
        self._events[seq] = event

    def _replace(self, kind: str, event: Json, seq: int, bounds: tuple[int, int], sources: list[int]) -> Iterator[str]:
        nodes = self._surface
        start, end = (nodes.index(bound) if bound in nodes else -1 for bound in bounds)
        if not 0 <= start <= end or event["surfaceOp"].keys() != {"op", "startSeq", "endSeq"}:
            yield "it stands for events that are not on the surface"
            return
        shadowed = nodes[start : end + 1]
        if not set(shadowed) <= set(sources):
            yield "sourceEventSeqs does not name all that it stands for"
        if self._head in shadowed:
            if kind != "system/message" or len(shadowed) > 1:
                yield "only a system prompt may stand for the one at the surface's head"
            self._head = seq
        if kind == "tool/result" and [_but_content(self._events[old]) for old in shadowed] != [_but_content(event)]:
            yield "a result may stand for one result, and with another content only"
        nodes[start : end + 1] = [seq]

    def _title(self, data: Json) -> Iterator[str]:
        named = data.get("messageSeqs")
        seqs = [int_of(seq) for seq in named] if isinstance(named, list) else [None]
        prompts = [self._events.get(-1 if seq is None else seq, {}) for seq in seqs]
        if bool(seqs) == (object_of(data, "source").get("kind") == "user"):
            yield "a title names messages exactly where no user gave it"
        if any(object_of(object_of(event, "data"), "source").get("kind") != "user" for event in prompts):
            yield "a title made of what is no earlier prompt"

    def _delivery(self, event: Json, data: Json) -> Iterator[str]:
        through = int_of(data.get("throughSeq"))
        if int_of(data.get("sessionFormatVersion")) != int(VERSION):
            return
        if text_of(data, "sessionId") != self._session_id or through is None or through >= (int_of(event.get("seq")) or 0):
            yield "a delivery of another session, or of events that are not there yet"


_OF_A_STEP = frozenset({"system/message", "assistant/message", "tool/call", "tool/result", "step/end"})


def _but_content(event: Json) -> str:
    data = object_of(event, "data")
    return canonical({"type": event.get("type"), "data": data | {"message": object_of(data, "message") | {"content": None}}})


def _sources(value: Any) -> list[int] | None:
    """The seqs that are named, runs of them as [first, last]; None where that cannot be read."""
    if value is None:
        return []
    found: list[int] = []
    for entry in value if isinstance(value, list) and value else [None]:
        first, last = (entry[0], entry[1]) if isinstance(entry, list) and len(entry) == 2 else (entry, entry)
        start, end = int_of(first), int_of(last)
        if start is None or end is None or not 0 <= start <= end < start + 10_000_000:
            return None
        found += range(start, end + 1)
    return found if len(set(found)) == len(found) else None
