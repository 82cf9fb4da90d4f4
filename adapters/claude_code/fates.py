"""Why a line is no message: the reason, and the path under which the report counts it."""

from array import array

from adapters.claude_code.live_branch import Tree, with_parallel_lines
from adapters.claude_code.packed import NONE
from adapters.claude_code.picked import Picked
from adapters.claude_code.records import KNOWN_TYPES, MESSAGE_TYPES, Line

ABANDONED = "abandoned: not on the live branch, left by a rewind, an edit or a retry, or cut off from it"
COMPACTED = "compacted: a summary on the live branch stands for it"
SIDECHAIN = "sidechain: a sub-agent's line inside the main file"
REPEATED = "repeated: another line with this uuid counts"
NO_UUID = "a message line without a uuid stands in no branch"
UNKNOWN = "unknown record type"
NO_MESSAGE = "no message"


class Fates:
    """Tells of each line whether it is a message, and if not, why. `live`: the lines that are messages."""

    def __init__(self, tree: Tree, branch: Picked[Line], live: Picked[Line]) -> None:
        self._tree = tree
        self._live = bytearray(len(tree.lines))
        for index in live.indexes:
            self._live[index] = 1
        self._compacted = _compacted(tree, branch)
        self._is_sidechain_file = bool(branch) and branch[-1].told.is_sidechain

    def is_live(self, number: int) -> bool:
        """Is the line of this number a message?"""
        return bool(self._live[number - 1])

    def reason(self, line: Line) -> str:
        """Return why a line that is not live is no message."""
        if line.problem:
            return line.problem
        if line.type not in KNOWN_TYPES:
            return UNKNOWN
        if line.type not in MESSAGE_TYPES:
            return NO_MESSAGE
        if not line.uuid:
            return NO_UUID
        name = self._tree.lines.names.find(line.uuid)
        if self._tree.node(name) != line.number - 1:
            return REPEATED
        if line.told.is_sidechain and not self._is_sidechain_file:
            return SIDECHAIN
        return COMPACTED if self._compacted[name] else ABANDONED


def path_of(line: Line) -> str:
    """Where the report counts a line."""
    if line.problem:
        return "lines/unreadable"
    return "/".join(filter(None, ("lines", line.type or "untyped", line.subtype)))


def _compacted(tree: Tree, branch: Picked[Line]) -> bytearray:
    """The lines that the live branch's compactions stand for, by name: the branch as it was before each of them."""
    compacted = bytearray(len(tree.lines.names))
    root = branch.indexes[0] if branch else NONE
    while root != NONE:
        above = tree.lines.logical_parent(root)
        before = array("i") if above == NONE or compacted[above] else tree.walk(above)
        for index in with_parallel_lines(tree, before):
            compacted[tree.lines.uuid[index]] = 1
        root = before[0] if before else NONE
    return compacted
