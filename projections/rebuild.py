"""Rebuild: make a projection anew beside the live one, catch up, and let it take the live one's place in one moment.

Rule 1: the live projection is touched by one transaction only, the swap; killed anywhere, it still serves.
Rule 2: the append lock is held for the last rows only, and at most SWAP_MS_MAX; if that is not enough, it is let go, the new
        projection catches up further, and the swap is tried again.
Rule 3: appends come first: after each range it rests for a part of the time that the range took.
        One that follows the log is swapped under the lock of its checkpoint, and no append waits at all.
Rule 4: one rebuild at a time; what a killed one left is dropped by the next.
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio

from eventstore.db import Database, Dedicated
from eventstore.errors import LogBusy, RebuildRunning, StoreError, StoreUnavailable
from projections.registry import projection
from sql.migrate import Projection

RANGE_EVENTS = 20_000
REST_SHARE = 0.5
SWAP_MS_MAX = 200
SWAP_TRIES = 50
_LAST_EVENTS = 2_000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far long work over the log has come."""

    done_seq: int
    head_seq: int
    elapsed_s: float

    @property
    def events_per_s(self) -> float:
        return self.done_seq / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def left_s(self) -> float:
        """About how many seconds are left."""
        return (self.head_seq - self.done_seq) / self.events_per_s if self.events_per_s else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return it for a client: seqs, seconds, events a second."""
        return {
            "done_seq": self.done_seq,
            "head_seq": self.head_seq,
            "elapsed_s": round(self.elapsed_s, 3),
            "events_per_s": round(self.events_per_s),
            "left_s": round(self.left_s, 1),
        }


OnProgress = Callable[[Progress], Awaitable[None]]


async def rebuild(database: Database, name: str, on_progress: OnProgress) -> Progress:
    """Rebuild a projection while the hub serves, and return what was folded.

    Raises ProjectionNotFound, RebuildRunning (another one has not ended), LogBusy (no swap within SWAP_TRIES tries; the
    live projection still serves).
    """
    one = projection(name)
    async with database.dedicated() as work:
        await work.call("configure_maintenance", statement_timeout_ms=0)
        if not (await work.call("begin_rebuild", projection=name))[0][0]:
            raise RebuildRunning("A rebuild is under way already; `tasuki projections status` shows how far it is.")
        try:
            await work.run_script(one.text)
            done = await _fold(work, one, 0, on_progress)
            return await _swap(work, one, done, on_progress)
        except BaseException:
            # cancelled in a call, the connection is gone, and the lock with it: the next rebuild drops what is left
            with anyio.CancelScope(shield=True), suppress(StoreError):
                await work.call("end_rebuild")
            raise


async def _fold(work: Dedicated, one: Projection, done_seq: int, on_progress: OnProgress) -> Progress:
    """Fold ranges until little is left."""
    began, head = time.monotonic(), await head_of(work)
    while head - done_seq > _LAST_EVENTS or done_seq == 0 < head:
        last = min(done_seq + RANGE_EVENTS, head)
        range_began = time.monotonic()
        await work.call("rebuild_range", projection=one.name, from_seq=done_seq + 1, to_seq=last)
        await anyio.sleep(REST_SHARE * (time.monotonic() - range_began))
        done_seq = last
        await on_progress(Progress(done_seq, head, time.monotonic() - began))
        if done_seq == head:
            head = await head_of(work)
    return Progress(done_seq, head, time.monotonic() - began)


async def _swap(work: Dedicated, one: Projection, progress: Progress, on_progress: OnProgress) -> Progress:
    swap = "swap_follower" if one.is_follower else "swap_projection"
    for _ in range(SWAP_TRIES):
        await work.call("configure_maintenance", statement_timeout_ms=SWAP_MS_MAX)
        try:
            await work.call(swap, projection=one.name, version=one.version, done_seq=progress.done_seq)
        except (LogBusy, StoreUnavailable):  # too long: its timeouts ended it, and nothing has changed
            await work.call("configure_maintenance", statement_timeout_ms=0)
            head = await head_of(work)
            if head > progress.done_seq:
                await work.call("rebuild_range", projection=one.name, from_seq=progress.done_seq + 1, to_seq=head)
            progress = Progress(head, head, progress.elapsed_s)
            await on_progress(progress)
        else:
            return progress
    raise LogBusy(f"The log was too busy to swap {one.name} within {SWAP_MS_MAX} ms, {SWAP_TRIES} times. Try at a quieter hour.")


async def head_of(work: Dedicated) -> int:
    """Return the log's last seq."""
    head: int = (await work.call("last_seq"))[0][0]
    return head
