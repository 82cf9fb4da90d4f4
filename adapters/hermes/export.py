"""An export file of Hermes: a session a line, as its own export has it."""

from collections.abc import Sequence

from adapters.conversion import Json
from adapters.hermes.writer import live_only
from eventstore.wire.codec import dump


def export_file(sessions: Sequence[Json]) -> tuple[bytes, list[str]]:
    """Return an export, and what it cannot hold: live rows alone, since an import would make all of them live."""
    lines: list[bytes] = []
    lost: list[str] = []
    for session in sessions:
        live, left_out = live_only(session)
        lines.append(dump(live).encode("utf-8") + b"\n")
        if left_out:
            lost.append(f"{session.get('id')}: {left_out} rows that are not live: an export holds live ones alone, a database all")
    return b"".join(lines), lost
