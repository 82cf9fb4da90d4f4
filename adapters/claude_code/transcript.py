"""A transcript's lines, read once: their bytes, the facts of each, the tree they make, the session's meta."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from adapters.claude_code.live_branch import Tree
from adapters.claude_code.meta import Facts
from adapters.claude_code.records import Line, facts
from adapters.conversion import Json
from adapters.json_lines import NOT_JSON, NOT_UTF8, TORN, bare_size, parse_line

WORDS_MAX = 4096

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
        self._words: dict[str, str] = {}
        self.tree = Tree((), lambda first, later: self._marks[first.number - 1] == self._marks[later.number - 1])
        is_whole = True
        for raw in lines:
            is_whole = raw.endswith(b"\n")
            self._add(raw)
        if not is_whole and self.lines[-1].problem in (NOT_JSON, NOT_UTF8):
            self.lines[-1] = replace(self.lines[-1], problem=TORN)

    def numbered(self, lines: Iterable[bytes]) -> Iterator[tuple[int, memoryview]]:
        """Yield the same lines again, bare, with their numbers; what was added to them meanwhile is left out."""
        for number, raw in enumerate(islice(lines, len(self.sizes)), 1):
            start = len(_BOM) if number == 1 and self.has_bom else 0
            yield number, memoryview(raw)[start : start + self.sizes[number - 1]]

    def parent_of(self, line: Line) -> str | None:
        """The uuid of the nearest user or assistant line upwards, or of the parent when the way up is not in the file.

        Only earlier lines count, so that growth changes no answer.
        """
        uuid, seen = line.parent, {line.uuid}
        while uuid and uuid not in seen:
            node = self.tree.first(uuid)
            if node is None or node.number > line.number:
                return line.parent
            if node.is_message:
                return node.uuid
            seen.add(uuid)
            uuid = node.parent
        return None

    def compaction_of(self, line: Line) -> Json | None:
        """What the boundary right before a compaction's summary says of it."""
        boundary = self.tree.first(line.parent)
        if boundary is None or boundary.number > line.number:
            return None
        told = boundary.told.compaction or {}
        known = {"trigger": told.get("trigger"), "pre_tokens": told.get("preTokens")}
        known["replaces_through"] = boundary.told.logical_parent or None
        return {key: value for key, value in known.items() if value is not None} or None

    def _add(self, raw: bytes) -> None:
        if not self.lines and raw.startswith(_BOM):
            raw, self.has_bom = raw.removeprefix(_BOM), True
        self.has_crlf |= raw.endswith(b"\r\n")
        bare = memoryview(raw)[: bare_size(raw)]
        self.sizes.append(len(bare))
        self._marks.append(hash(bare))
        parsed = parse_line(bare)
        line = facts(len(self.lines) + 1, parsed, self._once)
        if not line.problem:
            self.meta.add(line, parsed.value)
        self.lines.append(line)
        self.versions.append(self._once(self.meta.version))
        self.tree.add(line)

    def _once(self, text: str) -> str:
        """The same string for equal ones: many lines mention a name, and there may be a million."""
        node = self.tree.nodes.get(text)
        if node is not None:
            return node.uuid
        return self._words.setdefault(text, text) if len(self._words) < WORDS_MAX else text
