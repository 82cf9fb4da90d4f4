"""The lines of a session at home: where each is held, in little memory, and what of it is written otherwise.

What a line holds is looked up in the session whenever it is asked for: the session may be on a disk.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from adapters.claude_code.packed import NONE, Lines, Names
from adapters.claude_code.picked import Picked
from adapters.claude_code.records import Line, facts
from adapters.conversion import Json
from adapters.home import Held, kept, laid, parsed
from adapters.pieces import encoded


@dataclass(frozen=True, slots=True)
class HomeLine:
    """One of the lines, looked up."""

    home: "HomeLines"
    index: int

    @property
    def number(self) -> int:
        return self.home.facts.number(self.index)

    @property
    def line(self) -> Line:
        return self.home.facts[self.index]

    @property
    def order(self) -> int:
        """Where its entry stands in the session."""
        return self.home.order[self.index]

    @property
    def message(self) -> int | None:
        """The index of its message."""
        message = self.home.message[self.index]
        return None if message == NONE else message

    @property
    def is_value(self) -> bool:
        """Is it a value, which may be rewritten, and no text?"""
        return bool(self.home.is_value[self.index])

    @property
    def held(self) -> Held:
        """What it holds, as it came."""
        entry, part = self.home.entries[self.order], self.home.part[self.index]
        held = laid(entry["native"], entry) if part == NONE else kept(entry["records"][part])
        assert held is not None
        return held

    def change(self, name: str, value: str) -> None:
        """Have a field of it written otherwise."""
        self.home.changes.setdefault(self.index, {})[name] = value

    def pieces(self) -> Iterator[bytes]:
        """Yield it as it is written, without its end."""
        record, raw = self.held
        return iter((raw,)) if record is None else encoded(record | self.home.changes.get(self.index, {}))


class HomeLines(Sequence[HomeLine]):
    """All of them, in the order of the session."""

    def __init__(self, entries: Sequence[Json]) -> None:
        self.entries = entries
        self.facts = Lines(Names())
        self.order, self.part, self.message = array("i"), array("i"), array("i")
        self.is_value = bytearray()
        self.changes: dict[int, Json] = {}

    def add(self, held: Held, number: int, order: int, part: int = NONE, message: int = NONE) -> int:
        """Add a line; return its index. `part`: its record among the entry's, NONE where the entry is a message."""
        self.facts.append(facts(number, parsed(held)))
        self.order.append(order)
        self.part.append(part)
        self.message.append(message)
        self.is_value.append(held[0] is not None)
        return len(self.order) - 1

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> HomeLine: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[HomeLine]: ...
    def __getitem__(self, index: int | slice) -> HomeLine | Sequence[HomeLine]:
        if isinstance(index, slice):
            return Picked(self, range(*index.indices(len(self))))
        return HomeLine(self, range(len(self))[index])


class OfMessage(Mapping[int, HomeLine]):
    """By index of a message that came from Claude Code, the line that it came from."""

    def __init__(self, lines: HomeLines) -> None:
        self._lines = lines
        self._line = array("i")

    def set(self, message: int, line: int) -> None:
        self._line.extend([NONE] * (message + 1 - len(self._line)))
        self._line[message] = line

    def replace(self, line: int, other: int) -> None:
        """Let another line stand for this one."""
        for message, of in enumerate(self._line):
            if of == line:
                self._line[message] = other

    def __getitem__(self, message: int) -> HomeLine:
        if not 0 <= message < len(self._line) or self._line[message] == NONE:
            raise KeyError(message)
        return HomeLine(self._lines, self._line[message])

    def __iter__(self) -> Iterator[int]:
        return (message for message, line in enumerate(self._line) if line != NONE)

    def __len__(self) -> int:
        return sum(line != NONE for line in self._line)
