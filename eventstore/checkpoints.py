"""Checkpoints: how far each follower of the log has come. Fold and checkpoint move in one commit, or not at all.

A follower is a projection that is not folded by the append: it reads on from its checkpoint, and may lag or fail without
delaying anyone. Its SQL is that of any projection.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from eventstore.db import Database, Dedicated


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a follower stands: folded up to `seq`, `head_seq` being the log's at the same moment.

    `tries`: how often the next fold has failed; then `last_error` says how, and `next_try_at` when it is tried again.
    """

    name: str
    seq: int
    head_seq: int
    tries: int
    last_error: str | None
    next_try_at: datetime | None

    @property
    def lag(self) -> int:
        """How many events it is behind."""
        return self.head_seq - self.seq

    def as_json(self) -> dict[str, Any]:
        """Return it for a list; the time in RFC 3339."""
        next_try_at = self.next_try_at.isoformat().replace("+00:00", "Z") if self.next_try_at else None
        return {
            "checkpoint": self.seq,
            "lag": self.lag,
            "tries": self.tries,
            "last_error": self.last_error,
            "next_try_at": next_try_at,
        }


async def checkpoints(database: Database) -> dict[str, Checkpoint]:
    """Return where every follower of the database stands, by name."""
    return {row[0]: Checkpoint(*row) for row in await database.call("list_checkpoints")}


async def take_lead(work: Dedicated, name: str) -> bool:
    """Return whether this connection, while it lives, is the one that drives a follower. Raises StoreUnavailable."""
    is_ours: bool = (await work.call("lock_follower", projection=name))[0][0]
    return is_ours


async def follow(work: Dedicated, name: str, max_count: int) -> bool:
    """Fold at most `max_count` events more. Returns whether there are more to be folded at once.

    A fold that fails raises nothing: it is noted at the checkpoint, and until its next try is due there is nothing to do.
    """
    rows = await work.call("follow_log", projection=name, max_count=max_count)
    return any(folded > 0 and behind > 0 for folded, behind in rows)
