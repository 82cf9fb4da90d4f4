"""A session's family as a tree: from its eldest ancestor down, forks under the snapshots they were made from."""

from typing import Any

from cli.client import Hub, session_path
from cli.terminal import Screen, counted, number, one_line

SESSIONS_MAX = 2000


def load_tree(hub: Hub, session_id: str) -> dict[str, Any]:
    """Return the tree that a session is in: `{session_id, meta, …, snapshots: [{…, forks: [tree …]}]}`.

    Starts at the eldest ancestor that was not deleted. Raises SessionNotFound, SessionDeleted.
    """
    parents = _lineage(hub, session_id)["parents"]
    alive = [parent["session_id"] for parent in parents if not parent["deleted"]]
    return _branch(hub, alive[-1] if alive else session_id, [SESSIONS_MAX])


def _branch(hub: Hub, session_id: str, left: list[int]) -> dict[str, Any]:
    """One session with what grows out of it; `left` counts down how many more are looked at."""
    tree = _lineage(hub, session_id)
    left[0] -= 1
    forks: dict[str, list[dict[str, Any]]] = {}
    for fork in tree.pop("forks"):
        if left[0] > 0:
            forks.setdefault(fork["snapshot_id"], []).append(_branch(hub, fork["session_id"], left))
    tree.pop("parents")
    tree["snapshots"] = [{**one, "forks": forks.get(one["snapshot_id"], [])} for one in tree["snapshots"]]
    return tree


def show_tree(screen: Screen, tree: dict[str, Any], marked: str) -> None:
    """Draw a tree; the session that was asked for is marked."""
    for prefix, text, is_marked in _lines(tree, marked, "", ""):
        width = (screen.width or 120) - len(prefix)
        screen.line(prefix + screen.styled(one_line(text, max(20, width)), "bold" if is_marked else ""))


def _lines(tree: dict[str, Any], marked: str, first: str, rest: str) -> Any:
    title = tree["meta"].get("title") if isinstance(tree["meta"], dict) else ""
    about = f"{counted(number(tree['message_count']), 'message')}  {title or ''}"
    is_marked = tree["session_id"] == marked
    yield first, f"{tree['session_id']}  {about.rstrip()}{'  <' if is_marked else ''}", is_marked
    for index, snapshot in enumerate(tree["snapshots"]):
        is_last = index == len(tree["snapshots"]) - 1
        said = snapshot.get("commit_msg") or ""
        yield (
            rest + ("└─ " if is_last else "├─ "),
            f"{snapshot['snapshot_id']} up to seq {number(snapshot['up_to_seq'])}  {said}",
            False,
        )
        inner = rest + ("   " if is_last else "│  ")
        for place, fork in enumerate(snapshot["forks"]):
            ends = place == len(snapshot["forks"]) - 1
            yield from _lines(fork, marked, inner + ("└─ " if ends else "├─ "), inner + ("   " if ends else "│  "))


def _lineage(hub: Hub, session_id: str) -> dict[str, Any]:
    fields: dict[str, Any] = dict(hub.get(f"{session_path(session_id)}/lineage").document.fields)
    return fields
