"""Why a line is no message: the reason, and the path under which the report counts it."""

from collections.abc import Sequence

from adapters.claude_code.live_branch import Tree, walk, with_parallel_lines
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

    def __init__(self, tree: Tree, branch: Sequence[Line], live: Sequence[Line]) -> None:
        self._tree = tree
        self._live = {line.number for line in live}
        self._compacted = _compacted(tree, branch)
        self._is_sidechain_file = bool(branch) and branch[-1].told.is_sidechain

    def is_live(self, line: Line) -> bool:
        return line.number in self._live

    def reason(self, line: Line) -> str:
        """Return why a line that is not live is no message."""
        return _reason(self._tree, line, self._compacted, self._is_sidechain_file)


def path_of(line: Line) -> str:
    """Where the report counts a line."""
    if line.problem:
        return "lines/unreadable"
    return "/".join(filter(None, ("lines", line.type or "untyped", line.subtype)))


def _reason(tree: Tree, line: Line, compacted: set[str], is_sidechain_file: bool) -> str:
    if line.problem:
        return line.problem
    if line.type not in KNOWN_TYPES:
        return UNKNOWN
    if line.type not in MESSAGE_TYPES:
        return NO_MESSAGE
    if not line.uuid:
        return NO_UUID
    if tree.nodes[line.uuid] is not line:
        return REPEATED
    if line.told.is_sidechain and not is_sidechain_file:
        return SIDECHAIN
    return COMPACTED if line.uuid in compacted else ABANDONED


def _compacted(tree: Tree, branch: Sequence[Line]) -> set[str]:
    """The lines that the live branch's compactions stand for: the branch as it was before each of them."""
    compacted: set[str] = set()
    root = branch[0] if branch else None
    while root and root.told.logical_parent and root.told.logical_parent not in compacted:
        before = walk(tree, root.told.logical_parent)
        compacted.update(line.uuid for line in with_parallel_lines(tree, before))
        root = before[0] if before else None
    return compacted
