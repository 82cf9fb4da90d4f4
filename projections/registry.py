"""The views of the log that can be rebuilt, compared and trusted: what there is, and in which state."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from eventstore.checkpoints import Checkpoint, checkpoints
from eventstore.db import Database
from eventstore.errors import ProjectionNotFound
from sql.migrate import Projection, projections


@dataclass(frozen=True, slots=True)
class ProjectionState:
    """A projection as it stands. `rebuilt_to`: the seq that a rebuild under way has come to, else None.

    `checkpoint`: where a follower of the log stands, None for a projection that appends fold.
    """

    name: str
    version: int
    built_at: datetime
    rows: int
    bytes: int
    rebuilt_to: int | None
    checkpoint: Checkpoint | None = field(kw_only=True)

    def as_json(self) -> dict[str, Any]:
        """Return it for a list, a follower with its checkpoint; times in RFC 3339."""
        built_at = self.built_at.isoformat().replace("+00:00", "Z")
        return {
            "name": self.name,
            "version": self.version,
            "built_at": built_at,
            "rows": self.rows,
            "bytes": self.bytes,
            "rebuilt_to": self.rebuilt_to,
            **(self.checkpoint.as_json() if self.checkpoint else {}),
        }


async def states(database: Database) -> list[ProjectionState]:
    """Return every projection of the database, by name."""
    known = await checkpoints(database)
    return [ProjectionState(*row, checkpoint=known.get(row[0])) for row in await database.call("list_projections")]


async def outdated(database: Database) -> list[str]:
    """Return the names of the projections that this program has in a newer version than the database."""
    found = {state.name: state.version for state in await states(database)}
    return [one.name for one in projections() if found.get(one.name, 0) < one.version]


def followers() -> list[str]:
    """Return the names of this program's projections that follow the log by themselves."""
    return [one.name for one in projections() if one.is_follower]


def projection(name: str) -> Projection:
    """Return a projection of this program by name. Raises ProjectionNotFound."""
    known = {one.name: one for one in projections()}
    if name not in known:
        raise ProjectionNotFound(f"There is no projection {name[:80]!a}; there are: {', '.join(sorted(known))}.")
    return known[name]
