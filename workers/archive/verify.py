"""Verify: is every line of the archive what the log says, and is every tag's tree just its snapshot?

What the archive should hold is made again from the log, segment by segment, and compared by Git's own content ids, so one
changed byte is found, and nothing large is held.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread

from eventstore.db import Database
from eventstore.read import SessionRef
from workers.archive.export import segment_path
from workers.archive.layout import Line, Tail, grow
from workers.archive.repository import Repository
from workers.archive.source import Source

FAULTS_MAX = 1000


async def verify(database: Database, repository: Repository) -> dict[str, Any]:
    """Return `{snapshots, sessions, lines, faults: […]}`; no fault: archive and log agree."""
    check = _Check(database, repository)
    done = sorted([row async for row in _done_jobs(database)], key=lambda row: int(row[0]))
    for row in done:
        await check.snapshot(*row[:3])
    return {"snapshots": len(done), "sessions": check.sessions, "lines": check.lines, "faults": check.faults[:FAULTS_MAX]}


@dataclass
class _Folded:
    """What a session's segments should be, up to a seq."""

    to_seq: int = 0
    tails: dict[str, Tail] = field(default_factory=lambda: {"sessions": Tail(), "events": Tail()})
    lasts: dict[str, bytes] = field(default_factory=lambda: {"sessions": b"", "events": b""})
    ids: dict[tuple[str, int], str] = field(default_factory=dict)

    def add(self, stream: str, lines: list[Line], repository: Repository) -> None:
        """Add lines that follow."""
        self.tails[stream], changed = grow(self.tails[stream], self.lasts[stream], lines)
        for number, content in changed.items():
            self.ids[stream, number] = repository.hash(content)
        if changed:
            self.lasts[stream] = changed[max(changed)]


class _Check:
    def __init__(self, database: Database, repository: Repository) -> None:
        self._source, self._repository = Source(database), repository
        self.faults: list[str] = []
        self._known: dict[str, _Folded] = {}
        self.lines = 0

    @property
    def sessions(self) -> int:
        """How many sessions were looked at."""
        return len(self._known)

    async def snapshot(self, number: int, session_id: str, up_to_seq: int) -> None:
        """Check one tag: what its session, and those that it reads, have up to it."""
        tag = f"snapshot-{number}"
        commit = await anyio.to_thread.run_sync(self._repository.tag, tag)
        if commit is None:
            self.faults.append(f"{tag}: there is no such tag")
            return
        ref, chain = await self._source.chain(session_id, up_to_seq)
        for one, to_seq in chain:
            expected = await self._expected(one, to_seq)
            await anyio.to_thread.run_sync(self._compare, tag, commit, one, expected, one is ref)

    async def _expected(self, ref: SessionRef, to_seq: int) -> dict[tuple[str, int], str]:
        """The content id of each segment that a session should have up to a seq. Goes on from the snapshot before."""
        known = self._known.get(ref.session_id)
        if known is None or known.to_seq > to_seq:
            known = self._known[ref.session_id] = _Folded()
        async for page in self._source.lines(ref, known.to_seq, to_seq):
            for stream, lines in page.items():
                self.lines += len(lines)
                known.add(stream, lines, self._repository)
        known.to_seq = to_seq
        return known.ids

    def _compare(self, tag: str, commit: str, ref: SessionRef, expected: dict[tuple[str, int], str], is_own: bool) -> None:
        """An own segment must be just what is expected, and none more; an ancestor's may have gone on since."""
        for (stream, number), content_id in expected.items():
            path = segment_path(ref.session_id, stream, number)
            found = self._repository.blob_id(commit, path)
            if found != content_id and (is_own or not self._begins_alike(commit, path, content_id)):
                self.faults.append(f"{tag}: {'/'.join(path)} {'differs from the log' if found else 'is missing'}")
        if is_own:
            for stream in ("sessions", "events"):
                beyond = max((number for name, number in expected if name == stream), default=0) + 1
                path = segment_path(ref.session_id, stream, beyond)
                if self._repository.blob_id(commit, path) is not None:
                    self.faults.append(f"{tag}: {'/'.join(path)} lies beyond the snapshot")

    def _begins_alike(self, commit: str, path: tuple[str, ...], content_id: str) -> bool:
        """Whether an ancestor's segment, which may hold later lines too, begins with what is expected."""
        text = self._repository.read(commit, path)
        if text is None:
            return False
        at = 0
        while (at := text.find(b"\n", at) + 1) > 0:
            if self._repository.hash(text[:at]) == content_id:
                return True
        return False


async def _done_jobs(database: Database) -> AsyncIterator[tuple[Any, ...]]:
    before: int | None = None
    while True:
        rows = await database.call("list_archive_jobs", status="done", before_seq=before, max_count=1000)
        for row in rows:
            yield row
        if len(rows) < 1000:
            return
        before = rows[-1][0]
