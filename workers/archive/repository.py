"""The repository: bare, without index or work tree; trees are built from trees. The one file that knows pygit2.

A commit is the same whenever it is made again: its time and author come from the snapshot. So work that was killed is done
again and ends in the same objects. Order: objects, then the tag, then `main`; each reference changes in one rename.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, ObjectType, Option

MAIN = "refs/heads/main"
_GENERATION = "tasuki-generation"
_AUTHOR = ("Tasuki", "tasuki@localhost")
Change = Mapping[tuple[str, ...], str | None]  # path -> id of the new content, None: the file goes

pygit2.option(Option.ENABLE_FSYNC_GITDIR, True)


class Repository:
    """One archive on disk, made where there is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / "HEAD").exists():
            pygit2.init_repository(str(path), bare=True, initial_head="main")
        self._git = pygit2.Repository(str(path))

    @property
    def generation(self) -> int:
        """Which of the archives that a log has had this one is; 0 where it does not say."""
        try:
            return int((self.path / _GENERATION).read_text("ascii"))
        except FileNotFoundError:
            return 0

    @generation.setter
    def generation(self, value: int) -> None:
        (self.path / _GENERATION).write_text(f"{value}\n", "ascii")

    @property
    def main(self) -> str | None:
        """The newest commit on main, None in an empty archive."""
        reference = self._git.references.get(MAIN)
        return str(reference.target) if reference else None

    @property
    def head(self) -> str | None:
        """The commit that HEAD names: in a clone without a main of its own."""
        return None if self._git.head_is_unborn else str(self._git.head.target)

    def tag(self, name: str) -> str | None:
        """Return the commit that a tag names, None where there is none."""
        reference = self._git.references.get(f"refs/tags/{name}")
        return str(reference.peel(pygit2.Commit).id) if reference else None

    def tags(self) -> dict[str, str]:
        """Return every tag with its commit."""
        names = [name.removeprefix("refs/tags/") for name in self._git.references if name.startswith("refs/tags/")]
        return {name: self.tag(name) or "" for name in names}

    def parent_of(self, commit: str) -> str | None:
        """Return a commit's parent, None for the first."""
        parents = self._commit(commit).parent_ids
        return str(parents[0]) if parents else None

    def message_of(self, commit: str) -> str:
        return str(self._commit(commit).message)

    def read(self, commit: str | None, path: tuple[str, ...]) -> bytes | None:
        """Return what a file holds in a commit, None where there is none."""
        if commit is None:
            return None
        try:
            found = self._commit(commit).tree["/".join(path)]
        except KeyError:
            return None
        return bytes(found.data) if isinstance(found, pygit2.Blob) else None

    def content(self, blob: str) -> bytes:
        """Return a content by its id."""
        return bytes(self._git[pygit2.Oid(hex=blob)].data)  # type: ignore[attr-defined]  # a blob, by its maker

    def names(self, commit: str, folder: tuple[str, ...]) -> list[str]:
        """Return the names in a folder of a commit."""
        tree: pygit2.Object = self._commit(commit).tree
        for name in folder:
            if not isinstance(tree, pygit2.Tree) or name not in tree:
                return []
            tree = tree[name]
        return [entry.name or "" for entry in tree] if isinstance(tree, pygit2.Tree) else []

    def blob_id(self, commit: str, path: tuple[str, ...]) -> str | None:
        """Return the id of a file's content in a commit."""
        try:
            return str(self._commit(commit).tree["/".join(path)].id)
        except KeyError:
            return None

    def put(self, content: bytes) -> str:
        """Write a content, without naming it anywhere, and return its id."""
        return str(self._git.create_blob(content))

    @staticmethod
    def hash(content: bytes) -> str:
        """Return the id that a content has."""
        return str(pygit2.hash(content))

    def commit(self, parent: str | None, change: Change, message: str, moment: datetime) -> str:
        """Write a commit that changes files of its parent, without naming it anywhere, and return its id."""
        tree = self._commit(parent).tree if parent else None
        root = self._changed(tree, change)
        author = pygit2.Signature(*_AUTHOR, int(moment.timestamp()), 0)
        assert root is not None
        parents = [pygit2.Oid(hex=parent)] if parent else []
        return str(self._git.create_commit(None, author, author, message, root, parents))

    def name(self, tag: str, commit: str, message: str, moment: datetime) -> None:
        """Give a commit its tag. A tag that is there is left as it is."""
        if self.tag(tag) is None:
            author = pygit2.Signature(*_AUTHOR, int(moment.timestamp()), 0)
            self._git.create_tag(tag, pygit2.Oid(hex=commit), ObjectType.COMMIT, author, message)

    def advance(self, commit: str) -> None:
        """Let main go on from a commit's parent to it. Raises GitError when main is elsewhere: somebody else writes here."""
        parent, reference = self.parent_of(commit), self._git.references.get(MAIN)
        if reference is None:
            self._git.references.create(MAIN, pygit2.Oid(hex=commit))
        elif str(reference.target) == parent:
            reference.set_target(pygit2.Oid(hex=commit))
        elif str(reference.target) != commit:
            raise pygit2.GitError(f"main is at {reference.target}, not at {parent}: another worker writes to this archive")

    def history(self) -> Iterator[str]:
        """Yield main's commits, newest first."""
        commit = self.main
        while commit:
            yield commit
            commit = self.parent_of(commit)

    def _commit(self, commit: str) -> pygit2.Commit:
        found = self._git[pygit2.Oid(hex=commit)]
        assert isinstance(found, pygit2.Commit)
        return found

    def _changed(self, tree: pygit2.Tree | None, change: Change) -> pygit2.Oid | None:
        """The id of a tree with files changed; None when nothing is left in it."""
        builder = self._git.TreeBuilder(tree) if tree is not None else self._git.TreeBuilder()
        below: dict[str, dict[tuple[str, ...], str | None]] = {}
        for path, content in change.items():
            name, rest = path[0], path[1:]
            if rest:
                below.setdefault(name, {})[rest] = content
            elif content is None:
                if builder.get(name) is not None:
                    builder.remove(name)
            else:
                builder.insert(name, pygit2.Oid(hex=content), FileMode.BLOB)
        for name, inner in below.items():
            old = tree[name] if tree is not None and name in tree else None
            made = self._changed(old if isinstance(old, pygit2.Tree) else None, inner)
            if made is not None:
                builder.insert(name, made, FileMode.TREE)
            elif builder.get(name) is not None:
                builder.remove(name)
        return builder.write() if len(builder) else None
