"""Many strings, and the facts of many lines, in little memory: a transcript may have a million lines.

A string is a number from 0, given once, equal for equal strings. What is looked at is made a `Line` again, and let go.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, overload

from adapters.claude_code.chain import moment_ms
from adapters.claude_code.picked import Picked
from adapters.claude_code.records import MESSAGE_TYPES, NOTHING_TOLD, Line, Told
from adapters.conversion import Json
from adapters.made_names import is_uuid
from adapters.moments import stamp

NONE = -1


class Names:
    """Strings by number and numbers by string; a uuid takes 16 bytes, and each some ten for its place."""

    def __init__(self) -> None:
        self._texts = bytearray()
        self._ends = array("Q", [0])
        self._slots = array("i", [NONE]) * 1024

    def __len__(self) -> int:
        return len(self._ends) - 1

    def number(self, text: str) -> int:
        """Return the number of a string, a new one for a new string; NONE for the empty one."""
        if not text:
            return NONE
        key = _key(text)
        slot = self._slot(key)
        if self._slots[slot] == NONE:
            self._slots[slot] = len(self)
            self._texts += key
            self._ends.append(len(self._texts))
            if len(self) * 3 > len(self._slots) * 2:
                self._grow()
            return len(self) - 1
        return self._slots[slot]

    def find(self, text: str) -> int:
        """Return the number of a string; NONE where it has none."""
        return self._slots[self._slot(_key(text))] if text else NONE

    def text(self, number: int) -> str:
        """Return the string of a number, the empty one for NONE."""
        if number == NONE:
            return ""
        key = self._bytes(number)
        if len(key) == 16:
            text = key.hex()
            return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        return key.lstrip(b"\xff").decode("utf-8", "surrogatepass")

    def _bytes(self, number: int) -> bytes:
        return bytes(self._texts[self._ends[number] : self._ends[number + 1]])

    def _slot(self, key: bytes) -> int:
        """The slot of a key, or the one where it would be."""
        mask = len(self._slots) - 1
        slot = hash(key) & mask
        while self._slots[slot] != NONE and self._bytes(self._slots[slot]) != key:
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        size = len(self._slots) * 2
        self._slots = array("i", [NONE]) * size
        for number in range(len(self)):
            slot = hash(self._bytes(number)) & (size - 1)
            while self._slots[slot] != NONE:
                slot = (slot + 1) & (size - 1)
            self._slots[slot] = number


def _key(text: str) -> bytes:
    """A uuid in 16 bytes; any other string in UTF-8 behind what no UTF-8 has, and never in 16."""
    if len(text) == 36 and is_uuid(text):
        return bytes.fromhex(text.replace("-", ""))
    raw = b"\xff" + text.encode("utf-8", "surrogatepass")
    return raw if len(raw) != 16 else b"\xff" + raw


class Shape(NamedTuple):
    """What many lines have in common."""

    problem: str
    is_chained: bool
    type: str
    subtype: str
    is_told: bool
    is_sidechain: bool
    is_team: bool
    is_meta: bool
    has_result: bool
    agent_id: str


class Lines(Sequence[Line]):
    """The lines of a transcript, in order, by index from 0. Their strings are numbers of `names`."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self._shapes: dict[Shape, int] = {}
        self._by_number: list[Shape] = []
        self._shape = array("i")
        self._number = array("q")  # empty as long as they are 1, 2, 3 …
        self.uuid, self.parent, self.reply, self.source = array("i"), array("i"), array("i"), array("i")
        self._time = array("q")
        self._call, self._result = array("i"), array("i")
        self._more: dict[tuple[int, str], Any] = {}  # what few lines have

    def append(self, line: Line) -> None:
        index, number, told = len(self._shape), self.names.number, line.told
        self._shape.append(self._shape_of(line))
        if self._number or line.number != index + 1:
            self._number.extend(range(len(self._number) + 1, index + 1))
            self._number.append(line.number)
        self.uuid.append(number(line.uuid))
        self.parent.append(number(line.parent))
        self.reply.append(number(told.reply_id))
        self.source.append(number(told.source))
        self._call.append(self._one(index, "calls", told.calls))
        self._result.append(self._one(index, "results", told.results))
        moment = moment_ms(told.timestamp) if told.timestamp else None
        if moment is None or stamp(moment) != told.timestamp:
            moment = NONE
            if told.timestamp:
                self._more[index, "timestamp"] = told.timestamp
        self._time.append(moment)
        if told.logical_parent:
            self._more[index, "logical_parent"] = told.logical_parent
        if told.compaction is not None:
            self._more[index, "compaction"] = told.compaction

    def set_problem(self, index: int, problem: str) -> None:
        """Say that a line cannot be read."""
        self._shape[index] = self._shape_of(Line(0, problem))

    def __len__(self) -> int:
        return len(self._shape)

    @overload
    def __getitem__(self, index: int) -> Line: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...
    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        if isinstance(index, slice):
            return Picked(self, range(*index.indices(len(self))))
        index = range(len(self))[index]
        shape, text = self.shape(index), self.names.text
        uuid, parent = text(self.uuid[index]), text(self.parent[index])
        told = self._told(index, shape) if shape.is_told else NOTHING_TOLD
        return Line(self.number(index), shape.problem, shape.is_chained, shape.type, shape.subtype, uuid, parent, told)

    def shape(self, index: int) -> Shape:
        return self._by_number[self._shape[index]]

    def number(self, index: int) -> int:
        return self._number[index] if self._number else index + 1

    def is_message(self, index: int) -> bool:
        return self.uuid[index] != NONE and self.shape(index).type in MESSAGE_TYPES

    def calls(self, index: int) -> tuple[int, ...]:
        """The names of the calls that a line makes."""
        return self._all(index, "calls", self._call[index])

    def results(self, index: int) -> tuple[int, ...]:
        """The names of the calls that a line answers."""
        return self._all(index, "results", self._result[index])

    def timestamp(self, index: int) -> str:
        told = self._time[index]
        return stamp(told) if told != NONE else str(self._more.get((index, "timestamp"), ""))

    def logical_parent(self, index: int) -> int:
        return self.names.find(self._more.get((index, "logical_parent"), ""))

    def _told(self, index: int, shape: Shape) -> Told:
        text = self.names.text
        compaction: Json | None = self._more.get((index, "compaction"))
        return Told(
            logical_parent=self._more.get((index, "logical_parent"), ""),
            is_sidechain=shape.is_sidechain,
            is_team=shape.is_team,
            is_meta=shape.is_meta,
            agent_id=shape.agent_id,
            reply_id=text(self.reply[index]),
            calls=tuple(map(text, self.calls(index))),
            results=tuple(map(text, self.results(index))),
            has_result=shape.has_result,
            source=text(self.source[index]),
            timestamp=self.timestamp(index),
            compaction=compaction,
        )

    def _shape_of(self, line: Line) -> int:
        told = line.told
        flags = (told.is_sidechain, told.is_team, told.is_meta, told.has_result, told.agent_id)
        shape = Shape(line.problem, line.is_chained, line.type, line.subtype, told is not NOTHING_TOLD, *flags)
        number = self._shapes.setdefault(shape, len(self._by_number))
        if number == len(self._by_number):
            self._by_number.append(shape)
        return number

    def _one(self, index: int, what: str, texts: tuple[str, ...]) -> int:
        """The only name; several are kept apart."""
        numbers = tuple(map(self.names.number, texts))
        if len(numbers) > 1 or NONE in numbers:
            self._more[index, what] = numbers
        return numbers[0] if len(numbers) == 1 else NONE

    def _all(self, index: int, what: str, only: int) -> tuple[int, ...]:
        if only != NONE:
            return (only,)
        numbers: tuple[int, ...] = self._more.get((index, what), ())
        return numbers


def packed(lines: Iterable[Line]) -> Lines:
    """Return lines, packed."""
    done = Lines(Names())
    for line in lines:
        done.append(line)
    return done
