"""A transcript's lines, read once: their bytes, the facts of each, the tree they make, the session's meta."""

from array import array
from collections.abc import Iterable, Iterator

from adapters.claude_code.live_branch import Tree
from adapters.claude_code.meta import Facts
from adapters.claude_code.packed import NONE, Lines, Names
from adapters.claude_code.records import Line, facts
from adapters.conversion import Json
from adapters.json_lines import NOT_JSON, NOT_UTF8, TORN, bare_size, boxed, parse_line

_BOM = b"\xef\xbb\xbf"


class Transcript:
    """`lines`, `sizes` (bytes) and `versions` (of the agent, as of that line) stand side by side; numbers count from 1."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.lines = Lines(Names())
        self.sizes: array[int] = array("q")
        self.versions: list[str] = []
        self.meta = Facts()
        self.has_bom = self.has_crlf = False
        self._marks: array[int] = array("q")
        self.tree = Tree(self.lines, lambda first, later: self._marks[first] == self._marks[later])
        is_whole = True
        for box in boxed(lines):
            is_whole = box[0].endswith(b"\n")
            self.add(box)
        if not is_whole and self.lines[-1].problem in (NOT_JSON, NOT_UTF8):
            self.lines.set_problem(len(self.lines) - 1, TORN)

    def numbered(self, lines: Iterable[bytes]) -> Iterator[tuple[int, memoryview]]:
        """Yield the same lines again, bare, with their numbers; what was added to them meanwhile is left out."""
        for number, box in zip(range(1, len(self.sizes) + 1), boxed(lines), strict=False):
            yield number, self.bare(number, box.pop())

    def bare(self, number: int, raw: bytes) -> memoryview:
        """Return a line's text, without its end and the byte order mark."""
        start = len(_BOM) if number == 1 and self.has_bom else 0
        return memoryview(raw)[start : start + self.sizes[number - 1]]

    def parent_of(self, line: Line) -> str | None:
        """The uuid of the nearest user or assistant line upwards, or of the parent when the way up is not in the file.

        Only earlier lines count, so that growth changes no answer.
        """
        lines, names = self.lines, self.lines.names
        name, seen = names.find(line.parent), {names.find(line.uuid)}
        while name != NONE and name not in seen:
            node = self.tree.first(name)
            if node == NONE or lines.number(node) > line.number:
                return line.parent
            if lines.is_message(node):
                return names.text(name)
            seen.add(name)
            name = lines.parent[node]
        return None

    def compaction_of(self, line: Line) -> Json | None:
        """What the boundary right before a compaction's summary says of it."""
        index = self.tree.first(self.lines.names.find(line.parent))
        if index == NONE or self.lines.number(index) > line.number:
            return None
        boundary = self.lines[index]
        told = boundary.told.compaction or {}
        known = {"trigger": told.get("trigger"), "pre_tokens": told.get("preTokens")}
        known["replaces_through"] = boundary.told.logical_parent or None
        return {key: value for key, value in known.items() if value is not None} or None

    def add(self, box: list[bytes]) -> None:
        """Add the line in the box, which is empty then."""
        raw = box.pop()
        if not self.lines and raw.startswith(_BOM):
            raw, self.has_bom = raw.removeprefix(_BOM), True
        self.has_crlf |= raw.endswith(b"\r\n")
        held = [memoryview(raw)[: bare_size(raw)]]
        del raw
        self.sizes.append(len(held[0]))
        self._marks.append(hash(held[0]))
        parsed = parse_line(held.pop())
        line = facts(len(self.lines) + 1, parsed)
        if not line.problem:
            self.meta.add(line, parsed.value)
        self.lines.append(line)
        self.versions.append(self.meta.version)
        self.tree.add(len(self.lines) - 1)
