"""The desk: what an operator asks of the archive, from whichever server is asked."""

from pathlib import Path
from typing import Any

import anyio.to_thread

from eventstore.db import Database
from eventstore.errors import ArchiveMissing
from workers.archive.repository import Repository
from workers.archive.verify import verify
from workers.archive.worker import ArchiveWorker, status


class ArchiveDesk:
    """Status, retry and verify of one archive; `worker` is this process's own, if it runs one."""

    def __init__(self, database: Database, path: Path, remote: str, worker: ArchiveWorker | None) -> None:
        self._database, self._path, self._remote, self._worker = database, path, remote, worker

    async def status(self) -> dict[str, Any]:
        """Return `{repository, pending, running, done, failed}`, with a remote `{remote, to_push, push_error, pushed_at}` too."""
        return await status(self._database, self._path, self._remote)

    async def retry(self) -> int:
        """Let what failed or waits be tried now, and return how many jobs."""
        count: int = (await self._database.call("retry_archive_jobs"))[0][0]
        self.wake()
        return count

    async def verify(self) -> dict[str, Any]:
        """Compare archive and log. Raises ArchiveMissing."""
        if not (self._path / "HEAD").exists():
            raise ArchiveMissing(f"There is no archive at {self._path}; the worker may run on another host.")
        return await verify(self._database, await anyio.to_thread.run_sync(Repository, self._path))

    def wake(self) -> None:
        """There may be something to do: after a purge, to archive every snapshot again, into a new repository."""
        if self._worker:
            self._worker.wake()
