"""The archive worker: takes jobs, oldest first, and never holds a transaction while it works.

Rule 1: one writer. The lock lives on a connection of its own; who has it not waits, and takes over when the holder is gone.
Rule 2: a job that fails is tried again, later each time, and is `failed` after the last try; it stops no other job.
Rule 3: what the database says is done is believed only if this repository has the tag: the worker may run on another host now.
"""

import logging
import random
import shutil
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from eventstore.db import Database, Dedicated
from eventstore.errors import StoreError
from workers.archive.export import export
from workers.archive.push import PushFailed, push
from workers.archive.repository import Repository
from workers.archive.source import Source

log = logging.getLogger("tasuki.archive")
TRIES_MAX = 8
BACKOFF_S_FIRST, BACKOFF_S_MAX = 1.0, 300.0
POLL_S = 2.0
LOOK_S_MIN = 0.2
JOBS_AT_ONCE = 50
_ERROR_CHARS_MAX = 500


class ArchiveWorker:
    """One worker. `wake()` tells it that there may be something to do."""

    def __init__(self, database: Database, path: Path, remote: str, poll_s: float = POLL_S) -> None:
        self._database, self._path, self._remote, self._poll_s = database, path, remote, poll_s
        self._woken = anyio.Event()
        self._to_push = anyio.Event()
        self._expected_at_remote: str | None = None

    def wake(self) -> None:
        """Look for jobs now."""
        self._woken.set()

    async def run(self) -> None:
        """Work until cancelled. A lost database, or a folder that cannot be written, is waited for: the hub goes on without."""
        while True:
            try:
                async with self._database.dedicated() as lock:
                    await lock.call("configure_maintenance", statement_timeout_ms=0)
                    if (await lock.call("lock_archive"))[0][0]:
                        await self._work(lock)
            except* StoreError:  # out of a task group it comes in a group
                pass
            except* Exception as errors:  # noqa: BLE001  # a full disk, a broken repository: no reason to end the hub
                log.warning("archive", extra={"facts": {"path": str(self._path), "error": str(errors.exceptions[0])}})
            await self._pause()

    async def _work(self, lock: Dedicated) -> None:
        repository = await anyio.to_thread.run_sync(Repository, self._path)
        await self._believe_only_tags(repository)
        async with anyio.create_task_group() as tasks:
            if self._remote:
                self._to_push.set()
                tasks.start_soon(self._push)
            while True:
                # the lock is ours as long as this connection answers
                generation = (await lock.call("archive_generation"))[0][0]
                before, repository = repository, await anyio.to_thread.run_sync(self._of_generation, repository, generation)
                if repository is not before:  # what was on its way into the old one may have been called done since
                    await self._believe_only_tags(repository)
                if not await self.work_off(repository):
                    await self._pause()

    def _of_generation(self, repository: Repository, generation: int) -> Repository:
        """The repository, or a new, empty one in its place if it holds what was purged since. One never written to will do."""
        if repository.generation == generation:
            return repository
        if repository.main is not None:
            self._expected_at_remote = repository.main
            shutil.rmtree(self._path)
            repository = Repository(self._path)
        repository.generation = generation
        return repository

    async def work_off(self, repository: Repository) -> int:
        """Try the jobs that are due, and return how many there were."""
        source = Source(self._database)
        jobs = await self._database.call("next_archive_jobs", max_count=JOBS_AT_ONCE)
        for number, session_id, up_to_seq, retry_count in jobs:
            await self._note(number, "running", retry_count)
            try:
                commit = await export(source, repository, number, session_id, up_to_seq)
            except Exception as error:  # noqa: BLE001  # whatever it is, it is the job's: noted, and tried again
                await self._failed(number, retry_count + 1, error)
            else:
                await self._note(number, "done", retry_count, commit_id=commit)
                self._to_push.set()
        return len(jobs)

    async def _failed(self, number: int, tries: int, error: Exception) -> None:
        again_s = min(BACKOFF_S_MAX, BACKOFF_S_FIRST * 2 ** (tries - 1)) * random.uniform(0.5, 1.0)  # noqa: S311  # jitter
        status = "failed" if tries >= TRIES_MAX else "pending"
        log.warning("job", extra={"facts": {"snapshot": number, "status": status, "tries": tries, "error": type(error).__name__}})
        await self._note(number, status, tries, f"{type(error).__name__}: {error}"[:_ERROR_CHARS_MAX].replace("\0", " "), again_s)

    async def _note(
        self,
        number: int,
        status: str,
        retry_count: int,
        last_error: str | None = None,
        again_in_s: float = 0,
        commit_id: str | None = None,
    ) -> None:
        await self._database.call(
            "note_archive_job",
            snapshot_seq=number,
            status=status,
            retry_count=retry_count,
            last_error=last_error,
            again_in_s=again_in_s,
            commit_id=commit_id,
        )

    async def _believe_only_tags(self, repository: Repository) -> None:
        """Take up again what is called done and has no tag here, and what a killed worker was at."""
        tags = await anyio.to_thread.run_sync(repository.tags)
        before: int | None = None
        while True:
            rows = await self._database.call("list_archive_jobs", status="done", before_seq=before, max_count=1000)
            for row in rows:
                if f"snapshot-{row[0]}" not in tags:
                    await self._note(row[0], "pending", 0)
            if len(rows) < 1000:
                return
            before = rows[-1][0]

    async def _push(self) -> None:
        """Push what was committed, for as long as the worker works; a remote that does not take it is tried again, later."""
        while True:
            await self._to_push.wait()
            self._to_push = anyio.Event()
            main = await anyio.to_thread.run_sync(lambda: Repository(self._path).main)
            try:
                if main:
                    await push(self._path, self._remote, self._expected_at_remote)
                    self._expected_at_remote = None
                    await self._database.call("note_archive_push", pushed_id=main, last_error=None)
            except PushFailed as error:
                tries = (await self._database.call("note_archive_push", pushed_id=None, last_error=error.detail))[0][0]
                log.warning("push", extra={"facts": {"error": error.detail, "tries": tries}})
                await anyio.sleep(min(BACKOFF_S_MAX, BACKOFF_S_FIRST * 2 ** min(tries, 10)) * random.uniform(0.5, 1.0))  # noqa: S311  # jitter, no secret
                self._to_push.set()

    async def _pause(self) -> None:
        await anyio.sleep(min(self._poll_s, LOOK_S_MIN))  # appends wake us too: one look answers many
        with anyio.move_on_after(self._poll_s):
            await self._woken.wait()
        self._woken = anyio.Event()


async def status(database: Database, path: Path, remote: str) -> dict[str, Any]:
    """Return how the archive is: jobs by state, where it lies, and what waits to be pushed."""
    pending, running, done, failed, pushed_id, push_error, pushed_at = (await database.call("count_archive_jobs"))[0]
    known: dict[str, Any] = {"repository": str(path), "pending": pending, "running": running, "done": done, "failed": failed}
    if remote:
        waiting = await anyio.to_thread.run_sync(_not_pushed, path, pushed_id)
        known |= {"remote": _without_password(remote), "to_push": waiting, "push_error": push_error}
        known["pushed_at"] = pushed_at.isoformat().replace("+00:00", "Z") if pushed_at else None
    return known


def _not_pushed(path: Path, pushed_id: str | None) -> int:
    """How many commits of main the remote lacks, as far as we know."""
    if not (path / "HEAD").exists():
        return 0
    count = 0
    for commit in Repository(path).history():
        if commit == pushed_id:
            break
        count += 1
    return count


def _without_password(remote: str) -> str:
    """The remote's address without what stands before an @."""
    scheme, mark, rest = remote.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else remote
