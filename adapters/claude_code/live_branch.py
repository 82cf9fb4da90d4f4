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

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

from adapters.claude_code.packed import NONE, Lines
from adapters.claude_code.picked import Picked
from adapters.claude_code.records import Line


class Tree:
    """The nodes, each named by its uuid (a number of `lines.names`), in the order they first appeared.

    `is_repeat(first, later)` tells of two lines with one uuid, by index, whether they are the same text: then the first stays
    the node, so that a line written again moves nothing that was appended before.
    """

    def __init__(self, lines: Lines, is_repeat: Callable[[int, int], bool] = lambda first, later: False) -> None:
        self.lines = lines
        self.order = array("i")
        self._node = array("i")  # by name, the index of its line
        self._is_repeat = is_repeat
        self._repeated: dict[int, tuple[int, int]] = {}  # by name, where several lines have it: the first and the last
        for index in range(len(lines)):
            self.add(index)

    def add(self, index: int) -> None:
        """Add a line, when it can be a node."""
        if not self.lines.shape(index).is_chained:
            return
        name = self.lines.uuid[index]
        node = self.node(name)
        if node == NONE:
            self.order.append(name)
            self._node.extend([NONE] * (name + 1 - len(self._node)))
        else:
            self._repeated[name] = self.first(name), index
        if node == NONE or not self._is_repeat(node, index):
            self._node[name] = index

    def node(self, name: int) -> int:
        """The index of the line of this uuid, NONE for none."""
        return self._node[name] if 0 <= name < len(self._node) else NONE

    def nodes(self) -> Iterator[int]:
        return (self._node[name] for name in self.order)

    def first(self, name: int) -> int:
        """The first line of a uuid."""
        return self._repeated[name][0] if name in self._repeated else self.node(name)

    def place(self, index: int) -> int:
        """Where the line stands, or stands again for the last time."""
        name = self.lines.uuid[index]
        return self.lines.number(self._repeated[name][1] if name in self._repeated else index)

    def message_upward(self, name: int) -> int:
        """The nearest user or assistant line, this one or above it; NONE where there is none, or a parent is missing."""
        seen: set[int] = set()
        while (index := self.node(name)) != NONE and name not in seen:
            if self.lines.is_message(index):
                return index
            seen.add(name)
            name = self.lines.parent[index]
        return NONE

    def walk(self, name: int) -> "array[int]":
        """Return the path from the root to a node, each line once."""
        path, seen = array("i"), bytearray(len(self.lines.names))
        while (index := self.node(name)) != NONE and not seen[name]:
            path.append(index)
            seen[name] = 1
            name = self.lines.parent[index]
        path.reverse()
        return path


def live_branch(tree: Tree) -> Picked[Line]:
    """Return the nodes of the live branch in the order they are to be read (laws 1 to 5)."""
    leaf = newest_leaf(tree)
    chain = tree.walk(tree.lines.uuid[leaf]) if leaf != NONE else array("i")
    return Picked(tree.lines, with_parallel_lines(tree, chain))


def subagent_branch(tree: Tree) -> Picked[Line]:
    """Return the nodes of a sub-agent's file in the order they are to be read (law 6)."""
    last = max((node for node in tree.nodes() if tree.lines.is_message(node)), key=tree.place, default=NONE)
    return Picked(tree.lines, tree.walk(tree.lines.uuid[last]) if last != NONE else array("i"))


def newest_leaf(tree: Tree) -> int:
    """Return the line where a resumed session goes on (laws 2 and 3); NONE where nothing was said."""
    lines = tree.lines
    is_parent = bytearray(len(lines.names))
    for node in tree.nodes():
        if lines.parent[node] != NONE:
            is_parent[lines.parent[node]] = 1
    nearest = (tree.message_upward(name) for name in tree.order if not is_parent[name])
    leaves = [leaf for leaf in nearest if leaf != NONE]
    main = [leaf for leaf in leaves if not any(_aside(lines, leaf))]
    return max(main or leaves, key=tree.place, default=NONE)


def _aside(lines: Lines, index: int) -> tuple[bool, bool, bool]:
    shape = lines.shape(index)
    return shape.is_sidechain, shape.is_team, shape.is_meta


def with_parallel_lines(tree: Tree, chain: "Sequence[int] | array[int]") -> "array[int]":
    """Return the chain with the lines of its replies put back that the walk passed by (law 5)."""
    lines = tree.lines
    on_branch = bytearray(len(lines.names))
    for index in chain:
        on_branch[lines.uuid[index]] = 1
    passed_by = [node for node in tree.nodes() if not on_branch[lines.uuid[node]]]
    last_of_reply = {lines.reply[index]: index for index in chain if lines.reply[index] != NONE} if passed_by else {}
    missing = _Missing(tree, passed_by, last_of_reply.keys()) if last_of_reply else None
    answered = {call for index in chain for call in lines.results(index)} if missing else set()
    found: dict[int, list[int]] = {}
    for reply, anchor in last_of_reply.items() if missing else ():
        if missing and (of_reply := missing.of_reply(reply, on_branch, answered)):
            for index in of_reply:
                on_branch[lines.uuid[index]] = 1
            found[anchor] = of_reply
    whole = array("i")
    for index in chain:
        whole.append(index)
        whole.extend(found.get(index, ()))
    return whole


class _Missing:
    """What a walk may have passed by: lines of replies, and results that may belong to their lines."""

    def __init__(self, tree: Tree, passed_by: Sequence[int], wanted: Iterable[int]) -> None:
        self._tree, self._lines = tree, tree.lines
        replies = set(wanted)
        self._members: dict[int, list[int]] = {}
        self._callers: dict[int, int] = {}  # the line that made a call; NONE when two replies claim it: then it places nothing
        strays = [node for node in passed_by if self._is_result(node)]
        if strays or any(self._lines.reply[node] in replies for node in passed_by):
            for node in tree.nodes():
                self._add(node, replies)
        self._results: dict[int, list[int]] = {}
        for node in strays:
            owners = [tree.node(self._lines.source[node]), *(self._callers.get(call, NONE) for call in self._lines.results(node))]
            named = [self._lines.uuid[owner] for owner in owners if owner != NONE and self._same_writer(node, owner)]
            for name in [self._lines.parent[node], *named]:
                self._results.setdefault(name, []).append(node)

    def of_reply(self, reply: int, on_branch: bytearray, answered: set[int]) -> list[int]:
        """The reply's lines that are not on the branch, by time; then the results of its calls that are not, by time."""
        lines = self._lines
        members = self._members.get(reply, [])
        own = {lines.uuid[member] for member in members}
        siblings = [member for member in members if not on_branch[lines.uuid[member]]]
        of_members = (result for member in members for result in self._results.get(lines.uuid[member], ()))
        candidates = dict.fromkeys(result for result in of_members if not on_branch[lines.uuid[result]])
        results = [result for result in candidates if lines.parent[result] in own]
        strays = [result for result in candidates if lines.parent[result] not in own]
        if strays:
            known = answered.union(*(lines.results(result) for result in results))
            results += self._answers_to_open_calls(strays, own, known)
        return sorted(siblings, key=lines.timestamp) + sorted(results, key=lines.timestamp)

    def _answers_to_open_calls(self, strays: list[int], own: set[int], answered: set[int]) -> list[int]:
        """Of results that hang elsewhere in the tree, those that answer a call of the reply that is still open."""
        taken: list[int] = []
        for stray in sorted(strays, key=self._tree.place):
            owners = (self._callers.get(call, NONE) for call in self._lines.results(stray) if call not in answered)
            if any(owner != NONE and self._lines.uuid[owner] in own for owner in owners):
                answered = answered.union(self._lines.results(stray))
                taken.append(stray)
        return taken

    def _add(self, node: int, replies: set[int]) -> None:
        reply = self._lines.reply[node]
        if reply == NONE:
            return
        if reply in replies:
            self._members.setdefault(reply, []).append(node)
        for call in self._lines.calls(node):
            other = self._callers.get(call, node)
            self._callers[call] = node if other != NONE and self._lines.reply[other] == reply else NONE

    def _is_result(self, node: int) -> bool:
        shape = self._lines.shape(node)
        return shape.type == "user" and self._lines.parent[node] != NONE and shape.has_result

    def _same_writer(self, node: int, owner: int) -> bool:
        one, other = self._lines.shape(node), self._lines.shape(owner)
        return one.is_sidechain == other.is_sidechain and one.agent_id == other.agent_id
