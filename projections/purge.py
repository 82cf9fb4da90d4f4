"""Purge: what a session, or one event, said is gone for good; views follow, and the report says what cannot be reached."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import anyio

from eventstore.db import Database
from eventstore.errors import EventNotFound, RebuildRunning
from eventstore.read import Reader
from projections.rebuild import OnProgress, rebuild
from projections.registry import states
from sql.migrate import projections

_AGAIN_S = 0.5
NOT_REACHED = (
    "backups and write-ahead log kept elsewhere (pg_dump files, base backups, archived WAL)",
    "replicas until they have caught up, and readers who have it already",
    "the agents' own stores that the session was pushed from",
    "clones of the Git archive, and what its remote keeps of replaced commits",
)


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What went. `forks`: sessions that read the purged events through their lineage.

    `views_left`: views of the database that another version of this program made, and this one cannot rebuild.
    """

    session_id: str
    events: int
    natives: int
    forks: list[str]
    views_left: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return it for a client."""
        return {
            "session_id": self.session_id,
            "events": self.events,
            "natives": self.natives,
            "forks": self.forks,
            "not_reached": [*NOT_REACHED, *(f"the view {name}: rebuild it by the Tasuki that made it" for name in self.views_left)],
        }


async def purge_session(database: Database, reader: Reader, session_id: str, on_progress: OnProgress) -> PurgeReport:
    """Purge all of a session's own events. Raises SessionNotFound."""
    ref = await reader.find(session_id)
    return await _purge(database, session_id, ref.session_no, None, on_progress)


async def purge_event(database: Database, reader: Reader, seq: int, on_progress: OnProgress) -> PurgeReport:
    """Purge one event. Raises EventNotFound."""
    rows = await database.call("read_event", seq=seq)
    if not rows:
        raise EventNotFound(f"The log has no event with seq {seq}.", seq=seq)
    session_id: str = rows[0][0]
    ref = await reader.find(session_id)
    return await _purge(database, session_id, ref.session_no, [seq], on_progress)


async def _purge(
    database: Database, session_id: str, session_no: int, seqs: list[int] | None, on_progress: OnProgress
) -> PurgeReport:
    async with database.dedicated() as work:
        await work.call("configure_maintenance", statement_timeout_ms=0)
        events, natives = (await work.call("purge_events", session_no=session_no, seqs=seqs))[0]
        await work.run_script((files("sql") / "maintenance" / "vacuum_log.sql").read_text("utf-8"))
    known, views_left = {one.name for one in projections()}, list[str]()
    for state in await states(database):
        if state.name in known:
            await _rebuild(database, state.name, on_progress)
        else:
            views_left.append(state.name)
    forks = await database.call("list_heirs", session_no=session_no)
    return PurgeReport(session_id, events, natives, [row[0] for row in forks], views_left)


async def _rebuild(database: Database, name: str, on_progress: OnProgress) -> None:
    """Rebuild a view when no other rebuild is under way any more: that one may have folded what was purged since."""
    while True:
        try:
            await rebuild(database, name, on_progress)
        except RebuildRunning:
            await anyio.sleep(_AGAIN_S)
        else:
            return
