"""Which lines are live: the path a resumed session would continue, out of a tree that also holds what was abandoned.

1. The nodes are the lines with a uuid whose type can stand in the chain; of a type we do not know, those that name a
   parent, since releases add types. A uuid written again: the later line counts.
2. A leaf is the user or assistant line nearest to an end of the tree (an end is a node that nobody names as its
   parent).
3. Of the leaves that are no side chain, no team mate's and no meta line, the latest in the file is the end of the
   branch; where there is none, the latest leaf of all.
4. From there the branch goes up by parentUuid. A compaction's boundary has no parent, so what it replaced stays
   outside.
5. Tools that ran in parallel fork the tree: each result hangs on its own call. What the walk passed by of a reply that
   is on the branch (lines with its message id, and results of its calls) is put back behind the reply's last line on
   the branch.
6. A sub-agent's file has neither forks nor compactions: the last user or assistant line, and up.

The rule is that of Anthropic's own session reader (claude-agent-sdk 0.2.189, `get_session_messages`), told in our
words; a plain walk without law 5 loses one parallel result in ten. Of its oddities we keep that a meta line at the very
end of a file with forks may give way to an older leaf: the next line heals it, and a follower has nothing new to append
meanwhile.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from adapters.claude_code.records import Line


class Tree:
    """The nodes by uuid, in the order they first appeared.

    `is_repeat(first, later)` tells whether two lines with one uuid are the same text: then the first stays the node, so
    that a line written again moves nothing that was appended before.
    """

    def __init__(self, lines: Iterable[Line] = (), is_repeat: Callable[[Line, Line], bool] = lambda first, later: False) -> None:
        self.nodes: dict[str, Line] = {}
        self._is_repeat = is_repeat
        self._repeated: dict[str, tuple[Line, int]] = {}  # the first line of a uuid that stands in several, and the last's number
        for line in lines:
            self.add(line)

    def add(self, line: Line) -> None:
        if not line.is_chained:
            return
        node = self.nodes.get(line.uuid)
        if node is not None:
            self._repeated[line.uuid] = self.first(line.uuid) or line, line.number
        if node is None or not self._is_repeat(node, line):
            self.nodes[line.uuid] = line

    def first(self, uuid: str) -> Line | None:
        """The first line of a uuid."""
        return self._repeated[uuid][0] if uuid in self._repeated else self.nodes.get(uuid)

    def place(self, line: Line) -> int:
        """Where the line stands, or stands again for the last time."""
        return self._repeated[line.uuid][1] if line.uuid in self._repeated else line.number

    def upward(self, uuid: str) -> Iterator[Line]:
        """Yield the node and its ancestors, each once, until a parent is missing."""
        seen: set[str] = set()
        while uuid and uuid not in seen and (node := self.nodes.get(uuid)):
            seen.add(uuid)
            yield node
            uuid = node.parent

    @cached_property
    def replies(self) -> dict[str, list[Line]]:
        """The assistant lines of each reply of the API."""
        replies: dict[str, list[Line]] = {}
        for node in self.nodes.values():
            if node.told.reply_id:
                replies.setdefault(node.told.reply_id, []).append(node)
        return replies

    @cached_property
    def callers(self) -> dict[str, Line | None]:
        """The line that made each call; None when two replies claim the same call id, which then places nothing."""
        callers: dict[str, Line | None] = {}
        for node in self.nodes.values():
            if not node.told.reply_id:
                continue
            for call in node.told.calls:
                other = callers.get(call, node)
                callers[call] = node if other is not None and other.told.reply_id == node.told.reply_id else None
        return callers

    @cached_property
    def results(self) -> dict[str, list[Line]]:
        """The results that may belong to a line: its children, those that name it, those that answer its calls."""
        results: dict[str, list[Line]] = {}
        for node in self.nodes.values():
            if not _is_result(node):
                continue
            owners = [self.nodes.get(node.told.source), *(self.callers.get(call) for call in node.told.results)]
            named = [owner.uuid for owner in owners if owner is not None and _same_writer(node, owner)]
            for uuid in [node.parent, *named]:
                results.setdefault(uuid, []).append(node)
        return results


def live_branch(tree: Tree) -> list[Line]:
    """Return the nodes of the live branch in the order they are to be read (laws 1 to 5)."""
    leaf = newest_leaf(tree)
    return with_parallel_lines(tree, walk(tree, leaf.uuid)) if leaf else []


def subagent_branch(tree: Tree) -> list[Line]:
    """Return the nodes of a sub-agent's file in the order they are to be read (law 6)."""
    last = max((node for node in tree.nodes.values() if node.is_message), key=tree.place, default=None)
    return walk(tree, last.uuid) if last else []


def walk(tree: Tree, uuid: str) -> list[Line]:
    """Return the path from the root to a node."""
    return list(tree.upward(uuid))[::-1]


def newest_leaf(tree: Tree) -> Line | None:
    """Return the line where a resumed session goes on (laws 2 and 3); None where nothing was said."""
    parents = {node.parent for node in tree.nodes.values()}
    ends = (uuid for uuid in tree.nodes if uuid not in parents)
    nearest = (next((node for node in tree.upward(end) if node.is_message), None) for end in ends)
    leaves = [leaf for leaf in nearest if leaf is not None]
    main = [leaf for leaf in leaves if not (leaf.told.is_sidechain or leaf.told.is_team or leaf.told.is_meta)]
    return max(main or leaves, key=tree.place, default=None)


def with_parallel_lines(tree: Tree, chain: Sequence[Line]) -> list[Line]:
    """Return the chain with the lines of its replies put back that the walk passed by (law 5)."""
    on_branch = {node.uuid for node in chain}
    answered = {call for node in chain for call in node.told.results}
    last_of_reply = {node.told.reply_id: node.uuid for node in chain if node.told.reply_id}
    missing: dict[str, list[Line]] = {}
    for reply_id, anchor in last_of_reply.items():
        found = _missing_of_reply(tree, reply_id, on_branch, answered)
        on_branch.update(node.uuid for node in found)
        missing[anchor] = found
    return [line for node in chain for line in (node, *missing.get(node.uuid, ()))]


def _missing_of_reply(tree: Tree, reply_id: str, on_branch: set[str], answered: set[str]) -> list[Line]:
    """The reply's lines that are not on the branch, by time; then the results of its calls that are not, by time."""
    members = tree.replies[reply_id]
    own = {member.uuid for member in members}
    siblings = [member for member in members if member.uuid not in on_branch]
    candidates = {
        result.uuid: result for member in members for result in tree.results.get(member.uuid, ()) if result.uuid not in on_branch
    }
    results = [result for result in candidates.values() if result.parent in own]
    strays = [result for result in candidates.values() if result.parent not in own]
    results += _answers_to_open_calls(tree, strays, own, answered.union(*(result.told.results for result in results)))
    return sorted(siblings, key=_time) + sorted(results, key=_time)


def _answers_to_open_calls(tree: Tree, strays: list[Line], own: set[str], answered: set[str]) -> list[Line]:
    """Of results that hang elsewhere in the tree, those that answer a call of the reply that is still open."""
    taken: list[Line] = []
    for stray in sorted(strays, key=tree.place):
        owners = {call: tree.callers.get(call) for call in stray.told.results if call not in answered}
        if any(owner is not None and owner.uuid in own for owner in owners.values()):
            answered = answered.union(stray.told.results)
            taken.append(stray)
    return taken


def _is_result(node: Line) -> bool:
    return node.type == "user" and bool(node.parent) and node.told.has_result


def _same_writer(a: Line, b: Line) -> bool:
    return a.told.is_sidechain == b.told.is_sidechain and a.told.agent_id == b.told.agent_id


def _time(node: Line) -> str:
    return node.told.timestamp
