"""DeepSeek Harness's store: a log a session, below a folder for its working directory, with the agent's lock beside it.

1. One wrong log hides all sessions of a store: a log is checked as it is packed, before it is put in place.
2. A store is either compressed or plain; what is there decides.
3. Who has a session open holds its lock; such a session is left alone.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from adapters.dsh.paths import path_of
from adapters.dsh.records import AGENT
from adapters.dsh.validator import problems
from adapters.json_lines import parse_line
from adapters.written import Written
from cli.containers_dsh import frame_problems, packed, read_lines
from cli.install_files import FileStore
from cli.install_store import Json, NotInstalled, Plan, SessionInTheWay, StoreHeld

LOCK = "session.lock"


class DshStore(FileStore):
    """The logs below the agent's folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(AGENT, folder)
        self._is_plain = any((folder / "sessions").glob("*/*/session*.jsonl"))

    def path_of(self, written: Written) -> str:
        path = written.path.removesuffix(".zstd") if self._is_plain else written.path
        folder = (self.place / path).parent
        for other in sorted({*folder.glob("session*.jsonl*"), *self.place.glob(f"sessions/*/{folder.name}/session*.jsonl*")}):
            if other != self.place / path:
                raise SessionInTheWay(
                    f"DeepSeek Harness has session {written.session_id} already: {other}. Give --session-id for an id of its own."
                )
        return path

    def content_of(self, written: Written) -> tuple[bytes, list[str]]:
        content = b"".join(written.records) if self._is_plain else packed(written.records)
        wrong = [*problems(written.records), *([] if self._is_plain else frame_problems(content))]
        if path_of(parse_line(written.records[0].rstrip(b"\n")).value) != written.path:
            wrong.append("its header tells another place")
        if wrong:
            raise NotInstalled(
                f"DeepSeek Harness would refuse the log, and perhaps every session beside it: {wrong[0]}. Where it wrote the log so"
                " itself, --session-id with an id of its own has the session written anew."
            )
        return content, []

    def lines_of(self, path: Path) -> Iterable[bytes]:
        return read_lines(path)

    def put(self, plan: Plan, old: Json | None) -> None:
        with self._unlocked(plan.names):
            super().put(plan, old)

    def take(self, names: tuple[str, ...], undo: Json, digests: Sequence[str]) -> None:
        with self._unlocked(names):
            super().take(names, undo, digests)

    @contextmanager
    def _unlocked(self, names: tuple[str, ...]) -> Iterator[None]:
        """Hold the locks of sessions that have one."""
        locks = [lock for name in names if (lock := (self.place / name).parent / LOCK).exists()]
        held = [os.open(lock, os.O_RDWR) for lock in locks]
        try:
            for lock, handle in zip(locks, held, strict=True):
                if not _locked(handle):
                    raise StoreHeld(f"DeepSeek Harness has the session open ({lock}). End it there, then try again.")
            yield
        finally:
            for handle in held:
                os.close(handle)


def _locked(handle: int) -> bool:
    """Take a lock, as the agent does; it ends with the handle. On Windows the agent has another kind, which is not looked at."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
