"""Archive: what one more snapshot costs in an archive of 100,000 sessions, deep in a long session, against an early one in a
small archive; the same number of new messages in both.

What a measure stands on is made without syncing, or 400,000 files alone would take an hour; what is measured is synced.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio.to_thread
import pygit2
from pygit2.enums import Option

from bench.report import Row, Sample, Target
from bench.rounds import Plan
from bench.stage import Stage
from bench.store import Store, open_store
from workers.archive.export import export, segment_path
from workers.archive.layout import STREAMS, Card, Tail, card_path
from workers.archive.repository import Repository
from workers.archive.source import Source

SESSIONS, SESSIONS_QUICK = 100_000, 5_000
SNAPSHOTS, MESSAGES_EACH = 1000, 100
SNAPSHOTS_QUICK = 100
MEASURED = 10  # snapshots in a row, of which the median counts
_FIRST_TAG = 1_000_000_000  # no number of a snapshot that is taken here


async def measure(stage: Stage, plan: Plan) -> list[Row]:
    """Return one snapshot's cost, early and late."""
    sessions, snapshots = (SESSIONS_QUICK, SNAPSHOTS_QUICK) if plan.is_quick else (SESSIONS, SNAPSHOTS)
    async with open_store(stage.database("archive")) as store:
        large = await _Archive.made(stage.folder / "large.git", sessions, store)
        with _unsynced():
            await large.take(snapshots - MEASURED * plan.rounds)
        early, late = list[Sample](), list[Sample]()
        for _ in range(plan.rounds):
            small = await _Archive.made(stage.folder / f"small-{len(early)}.git", 0, store)
            early.append(Sample(await small.take(MEASURED)))
            late.append(Sample(await large.take(MEASURED)))
    figure = f"snapshot {snapshots} of {snapshots * MESSAGES_EACH:,} messages, {sessions:,} sessions"
    return [Row("archive", figure, "ms", late, "snapshot 10 in a small archive", early, Target("at most", 3))]


class _Archive:
    """A repository and a session that grows in it."""

    def __init__(self, repository: Repository, store: Store, session_id: str) -> None:
        self._repository, self._store, self._session_id = repository, store, session_id
        self._source = Source(store.database)

    @classmethod
    async def made(cls, path: Path, sessions: int, store: Store) -> "_Archive":
        repository = await anyio.to_thread.run_sync(_filled, path, sessions)
        (session_id,) = await store.new_sessions(1)
        return cls(repository, store, session_id)

    async def take(self, count: int) -> float:
        """Append and snapshot `count` times; return the median time of the last MEASURED exports, in milliseconds."""
        times: list[float] = []
        for _ in range(count):
            await self._store.append(self._session_id, MESSAGES_EACH)
            number, up_to_seq = await self._store.snapshot(self._session_id)
            began = time.perf_counter()
            await export(self._source, self._repository, number, self._session_id, up_to_seq)
            times.append((time.perf_counter() - began) * 1000)
        return sorted(times[-MEASURED:])[MEASURED // 2]


def _filled(path: Path, sessions: int) -> Repository:
    """An archive that holds so many small sessions, put there in one commit, and a snapshot's tag for each."""
    repository = Repository(path)
    if sessions:
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        tails = dict.fromkeys(STREAMS, Tail(1, 1, 3, 1))
        with _unsynced():
            line = repository.put(b"{}\n")
            change: dict[tuple[str, ...], str | None] = {}
            for number in range(sessions):
                session_id = f"ses_00000000-0000-7000-8000-{number * 2654435761 % 2**48:012x}"
                card = Card(session_id, "bench", number + 1, "", "2026-01-01T00:00:00Z", {}, number + 1, tails=tails)
                change[card_path(session_id)] = repository.put(card.to_json())
                change |= {segment_path(session_id, stream, 1): line for stream in STREAMS}
            commit = repository.commit(None, change, "filled\n", moment)
            for number in range(sessions):
                repository.name(f"snapshot-{_FIRST_TAG + number}", commit, f"snapshot {number}\n", moment)
        repository.advance(commit)
    return repository


@contextmanager
def _unsynced() -> Iterator[None]:
    """Git's files are left to the system's own time to be written while the context is open."""
    pygit2.option(Option.ENABLE_FSYNC_GITDIR, False)
    try:
        yield
    finally:
        pygit2.option(Option.ENABLE_FSYNC_GITDIR, True)
