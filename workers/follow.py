"""Follow: drives the projections that follow the log outside the append, each from its checkpoint.

Rule 1: one driver a follower. The lock lives on the connection that folds; who has it not waits, and takes over when the holder
        is gone. Even two drivers would fold nothing twice: the checkpoint moves with the fold.
Rule 2: followers are strangers: each has a connection and a pace of its own, and one that fails or is slow stops no other.
Rule 3: a transaction is a fold of at most RANGE_EVENTS and FOLD_S_MAX; between two none is open.
Rule 4: a wake-up is a hint. The poll stands behind it, and sees too when a fold that failed is due again.
"""

import logging

import anyio

from eventstore.checkpoints import follow, take_lead
from eventstore.db import Database, Dedicated
from eventstore.errors import PooledConnection, ReadOnlyReplica, StoreError, StoreUnavailable
from projections.registry import followers

log = logging.getLogger("tasuki.follow")
RANGE_EVENTS = 2000
FOLD_S_MAX = 30.0
LOOK_S_MIN = 0.1
STAND_BY_S = 2.0


class Followers:
    """The drivers of every follower that this program has. `wake()` tells them that there may be something to fold."""

    def __init__(self, database: Database, poll_s: float) -> None:
        self._database, self._poll_s = database, poll_s
        self._woken = anyio.Event()

    def wake(self) -> None:
        """Look at the log now."""
        self._woken.set()

    async def run(self) -> None:
        """Drive until cancelled. A lost database is waited for."""
        async with anyio.create_task_group() as tasks:
            for name in followers():
                tasks.start_soon(self._drive, name)

    async def _drive(self, name: str) -> None:
        while True:
            try:
                async with self._database.dedicated() as work:
                    await work.call("configure_maintenance", statement_timeout_ms=int(FOLD_S_MAX * 1000))
                    if await take_lead(work, name):
                        await self._follow(work, name)
            except (StoreUnavailable, PooledConnection, ReadOnlyReplica):  # told elsewhere; a replica is driven where it is written
                pass
            except StoreError as error:
                log.warning("follower", extra={"facts": {"projection": name, "error": error.detail}})
            await anyio.sleep(STAND_BY_S)

    async def _follow(self, work: Dedicated, name: str) -> None:
        """Fold what comes, for as long as the connection lives."""
        while True:
            if self._woken.is_set():  # else another one has begun a new one
                self._woken = anyio.Event()
            woken = self._woken
            while await follow(work, name, RANGE_EVENTS):
                pass
            await anyio.sleep(min(self._poll_s, LOOK_S_MIN))  # appends wake us: one look answers many
            with anyio.move_on_after(self._poll_s):
                await woken.wait()
