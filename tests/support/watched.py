"""The store of an agent, watched as the agent writes: what stood in it, and since when."""

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

from cli.source import Source
from cli.stores import load

LOOK_S = 0.005
STORES = {
    "opencode": ".local/share/opencode/opencode.db",
    "hermes": ".hermes/state.db",
    "codex": ".codex/sessions/**/*.jsonl",
    "dsh": ".dsh/sessions/*/*/session*.jsonl*",
    "gemini": ".gemini/tmp/*/chats/*.jsonl",
}


class Watched:
    """A session's file or database, kept as it was at each change until the block is left; times are those of `time.time`.

    A copy may hold what was written a moment after its time, so that a message seems older than it is, never newer.
    """

    def __init__(self, agent: str, home: Path, folder: Path, session_id: str) -> None:
        (self._path,) = home.glob(STORES[agent])
        self._agent, self._folder = agent, folder
        self._session_id = session_id if self._path.suffix == ".db" else ""
        self._times: list[float] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Watched":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._is_over.set()
        self._thread.join()

    def messages(self) -> list[str]:
        """The names of all messages at the end, in order."""
        return self._names(len(self._times) - 1, is_final=True)

    def written_at(self) -> Mapping[str, float]:
        """When each message was first there to its end."""
        times: dict[str, float] = {}
        for at, since in enumerate(self._times):
            for name in self._names(at, is_final=False):
                times.setdefault(name, since)
        return times

    def _names(self, at: int, *, is_final: bool) -> list[str]:
        source = Source(self._agent, self._folder / str(at) / self._path.name, session_id=self._session_id)
        return [message.append_id for message in load(source, is_final=is_final).conversion.messages]

    def _watch(self) -> None:
        kept: Mapping[Path, tuple[int, int]] = {}
        is_over = False
        while not is_over:
            is_over = self._is_over.is_set()
            seen = dict(self._states())
            if seen != kept:
                self._keep(max(changed for _, changed in seen.values()) / 1e9)
                kept = seen
            time.sleep(LOOK_S)

    def _keep(self, since: float) -> None:
        """Copy it whole: again, where it changes meanwhile."""
        folder = self._folder / str(len(self._times))
        folder.mkdir(parents=True)
        before: Mapping[Path, tuple[int, int]] = {}
        while before != (before := dict(self._states())):
            for path in before:
                (folder / path.name).write_bytes(path.read_bytes())
        self._times.append(since)

    def _states(self) -> Iterator[tuple[Path, tuple[int, int]]]:
        for path in (self._path, self._path.with_name(f"{self._path.name}-wal")):
            if path.exists():
                told = path.stat()
                yield path, (told.st_size, told.st_mtime_ns)
