"""Verify: fold a projection afresh and compare it with the live one, row by row and column by column.

Both are looked at as they were in one moment, in a transaction that is undone at its end: appends go on, nothing is left.
"""

import time
from dataclasses import asdict, dataclass
from typing import Any

from eventstore.db import Database
from projections.rebuild import RANGE_EVENTS, OnProgress, Progress
from projections.registry import projection

DIFFERENCES_MAX = 1000


@dataclass(frozen=True, slots=True)
class Difference:
    """One column of one row that differs; the column `(row)`: one side lacks the row. Values as PostgreSQL writes them."""

    session_id: str | None
    row_key: str
    column: str
    live: str | None
    fresh: str | None

    def as_json(self) -> dict[str, Any]:
        """Return it for a client."""
        return asdict(self)


async def verify(database: Database, name: str, on_progress: OnProgress) -> list[Difference]:
    """Return the first DIFFERENCES_MAX differences, none when the live projection is right. Raises ProjectionNotFound."""
    one = projection(name)
    async with database.dedicated() as work:
        await work.call("configure_maintenance", statement_timeout_ms=0)
        async with work.one_moment():
            head: int = (await work.call("begin_verify", projection=one.name))[0][0]
            began = time.monotonic()
            for first in range(1, head + 1, RANGE_EVENTS):
                last = min(first + RANGE_EVENTS - 1, head)
                await work.call("verify_range", projection=one.name, from_seq=first, to_seq=last)
                await on_progress(Progress(last, head, time.monotonic() - began))
            rows = await work.call("compare_projection", projection=one.name, max_count=DIFFERENCES_MAX)
            return [Difference(*row) for row in rows]
