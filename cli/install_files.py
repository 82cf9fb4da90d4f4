"""A store made of files: each put there in one step, never over one that is there; taken out as long as none has changed."""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from adapters.registry import READERS, WRITERS
from adapters.written import Written
from cli.install_store import GoneOn, Json, NotInstalled, Plan, SessionInTheWay, UnsupportedStore, digest_of
from eventstore.wire.codec import dump


class FileStore:
    """The files below an agent's folder. An agent whose `Written.path` says where a session belongs needs nothing more."""

    def __init__(self, agent: str, folder: Path) -> None:
        self._agent, self.place = agent, folder

    @contextmanager
    def held(self, *, is_to_write: bool) -> Iterator["FileStore"]:
        """No agent locks its files: each change below is safe against one that writes."""
        try:
            yield self
        except OSError as error:
            raise UnsupportedStore(f"{self.place} cannot be written to: {error.strerror or 'no reason given'}.") from None

    def path_of(self, written: Written) -> str:
        """Where a session belongs below the folder, with `/`. Raises SessionInTheWay where the agent has it elsewhere."""
        return written.path

    def place_of(self, name: str) -> str:
        """Where a file that the writer named belongs below the folder, with `/`."""
        return name

    def content_of(self, written: Written) -> tuple[bytes, list[str]]:
        """What is in a session's file, and what it cannot hold. Raises NotInstalled."""
        return WRITERS[self._agent].file(written.records)

    def lines_of(self, path: Path) -> Iterable[bytes]:
        """The lines of a session's file, as our reader takes them."""
        return path.read_bytes().splitlines(keepends=True)

    def plan(self, written: Written) -> Plan:
        files: dict[str, bytes] = {}
        left_out: list[str] = []
        for one in (written, *written.subagents):
            path = self.path_of(one)
            assert not {"", ".", ".."}.intersection(path.split("/")), "a file of a session stands below the agent's folder"
            files[path], lost = self.content_of(one)
            left_out += lost
            if one.sidecar is not None:
                files[path.rpartition(".")[0] + ".meta.json"] = dump(one.sidecar).encode()
            files |= {self.place_of(name): content for name, content in one.beside}
        meant = [message.append_id for message in READERS[self._agent].read(written.records).messages]
        names = tuple(files)
        return Plan(names, _digest(files), meant, left_out, [], files, _half_done(files, self._there(names)))

    def digest(self, names: tuple[str, ...]) -> str:
        for name in names:  # an undo that was killed had put it aside
            path = self.place / name
            if _aside(path).is_file() and not path.exists():
                _aside(path).replace(path)
        return _digest(self._there(names))

    def undo_of(self, plan: Plan, old: Json | None) -> Json:
        needed = {parent.as_posix(): None for name in plan.names for parent in reversed(Path(name).parents)}
        missing = [folder for folder in needed if not (self.place / folder).exists()]
        return {"files": list(plan.names), "folders": [*(old["folders"] if old else ()), *missing]}

    def put(self, plan: Plan, old: Json | None) -> None:
        before = set(old["files"]) if old else set()
        done: list[Path] = []
        try:
            for name in reversed(plan.names):  # the session's own file comes last: it makes the others seen
                path = self.place / name
                path.parent.mkdir(parents=True, exist_ok=True)
                _place(path, plan.content[name], is_ours=name in before)
                done += [path] if name not in before else []
        except BaseException as error:
            for path in done:
                path.unlink()
            if not isinstance(error, FileExistsError):
                raise
            raise SessionInTheWay(f"{error.filename2 or error.filename} has come into being meanwhile.") from None
        for name in before - set(plan.names):
            (self.place / name).unlink(missing_ok=True)

    def take(self, names: tuple[str, ...], undo: Json, digests: Sequence[str]) -> None:
        aside: list[tuple[Path, Path]] = []
        for name in names:
            path = self.place / name
            if path.is_file():
                hidden = _aside(path)
                path.replace(hidden)
                aside.append((hidden, path))
        now_there = {path.relative_to(self.place).as_posix(): hidden.read_bytes() for hidden, path in aside}
        if _digest(now_there) not in digests:
            for hidden, path in aside:
                hidden.replace(path)
            raise GoneOn("The agent has written to the session since it was installed.")
        for hidden, _ in aside:
            hidden.unlink()
        self.sweep(names, undo)

    def sweep(self, names: tuple[str, ...], undo: Json) -> None:
        for name in names:
            _draft(self.place / name).unlink(missing_ok=True)
        remove_folders(self.place, undo["folders"])

    def facts_after(self, undo: Json) -> Json:
        return undo

    def read_back(self, names: tuple[str, ...]) -> list[str]:
        try:
            lines = self.lines_of(self.place / names[0])
            return [message.append_id for message in READERS[self._agent].read(lines).messages]
        except OSError as error:
            raise NotInstalled(f"{self.place / names[0]} cannot be read back: {error.strerror or 'no reason given'}.") from None

    def _there(self, names: tuple[str, ...]) -> dict[str, bytes]:
        return {name: path.read_bytes() for name in names if (path := self.place / name).is_file()}


def _half_done(files: Mapping[str, bytes], there: Mapping[str, bytes]) -> tuple[str, ...]:
    """How the store may look on the way: the last files in place, the first not there yet, or gone already, or as they were."""
    ways = []
    for at in range(1, len(files)):
        done = set(list(files)[at:])
        ways.append(_digest({name: content for name, content in files.items() if name in done}))
        ways.append(
            _digest({name: files[name] if name in done else there[name] for name in files if name in done or name in there})
        )
    return tuple(dict.fromkeys(ways))


def _aside(path: Path) -> Path:
    """Where a file is while it is taken out."""
    return path.with_name(f".{path.name}.undo")


def _draft(path: Path) -> Path:
    """Where a file is before it is put in place."""
    return path.with_name(f".{path.name}.draft")


def _digest(files: Mapping[str, bytes]) -> str:
    return digest_of([part for name, content in files.items() for part in (name.encode("utf-8", "surrogatepass"), content)])


def _place(path: Path, content: bytes, *, is_ours: bool) -> None:
    """Write a file beside its place and put it there in one step. Raises FileExistsError unless what is there is ours."""
    draft = _draft(path)
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if is_ours:
            draft.replace(path)
        else:
            _link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _link(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        draft.replace(path)


def remove_folders(root: Path, folders: list[str]) -> None:
    """Remove folders that we made, unless something else is in them by now."""
    for folder in reversed(folders):
        with suppress(OSError):
            (root / folder).rmdir()
