"""A transcript's lines, read once: their bytes, the facts of each, the tree they make, the session's meta."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from adapters.claude_code.live_branch import Tree
from adapters.claude_code.meta import Facts
from adapters.claude_code.records import NOT_JSON, NOT_UTF8, TORN, Line, facts, parse_line
from adapters.conversion import Json

_BOM = b"\xef\xbb\xbf"


class Transcript:
    """`lines`, `sizes` (bytes) and `versions` (of the agent, as of that line) stand side by side; numbers count from 1."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.lines: list[Line] = []
        self.sizes: array[int] = array("q")
        self.versions: list[str] = []
        self.meta = Facts()
        self.has_bom = self.has_crlf = False
        self._marks: array[int] = array("q")
        self._known: dict[str, str] = {}
        is_whole = True
        for raw in lines:
            is_whole = raw.endswith(b"\n")
            self._add(raw)
        if not is_whole and self.lines[-1].problem in (NOT_JSON, NOT_UTF8):
            self.lines[-1] = replace(self.lines[-1], problem=TORN)
        self._known.clear()
        self.tree = Tree(self.lines, lambda first, later: self._marks[first.number - 1] == self._marks[later.number - 1])

    def numbered(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield the same lines again, bare, with their numbers; what was added to them meanwhile is left out."""
        for number, (raw, size) in enumerate(zip(lines, self.sizes, strict=False), 1):
            yield number, (raw.removeprefix(_BOM) if number == 1 else raw)[:size]

    def parent_of(self, line: Line) -> str | None:
        """The uuid of the nearest user or assistant line upwards, or of the parent when the way up is not in the file.

        Only earlier lines count, so that growth changes no answer.
        """
        uuid, seen = line.parent, {line.uuid}
        while uuid and uuid not in seen:
            node = self._first.get(uuid)
            if node is None or node.number > line.number:
                return line.parent
            if node.is_message:
                return node.uuid
            seen.add(uuid)
            uuid = node.parent
        return None

    def compaction_of(self, line: Line) -> Json | None:
        """What the boundary right before a compaction's summary says of it."""
        boundary = self._first.get(line.parent)
        if boundary is None or boundary.number > line.number:
            return None
        told = boundary.compaction or {}
        known = {"trigger": told.get("trigger"), "pre_tokens": told.get("preTokens")}
        known["replaces_through"] = boundary.logical_parent or None
        return {key: value for key, value in known.items() if value is not None} or None

    @cached_property
    def _first(self) -> dict[str, Line]:
        """The first line of each uuid."""
        first: dict[str, Line] = {}
        for line in self.lines:
            if line.is_chained:
                first.setdefault(line.uuid, line)
        return first

    def _add(self, raw: bytes) -> None:
        if not self.lines and raw.startswith(_BOM):
            raw, self.has_bom = raw.removeprefix(_BOM), True
        self.has_crlf |= raw.endswith(b"\r\n")
        raw = raw.removesuffix(b"\n").removesuffix(b"\r")
        self.sizes.append(len(raw))
        self._marks.append(hash(raw))
        parsed = parse_line(raw)
        line = facts(len(self.lines) + 1, parsed, self._once)
        if not line.problem:
            self.meta.add(line, parsed.value)
        self.lines.append(line)
        self.versions.append(self.meta.version)

    def _once(self, text: str) -> str:
        """The same string for equal ones: a name is mentioned by many lines, and there may be a million."""
        return self._known.setdefault(text, text)
