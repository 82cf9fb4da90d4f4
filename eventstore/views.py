"""Views: sessions, snapshots and lineage as JSON. Meta is given as it is stored, spliced in, never decoded."""

from datetime import datetime
from typing import Any

from eventstore.db import Database
from eventstore.errors import InvalidRequest, SessionDeleted
from eventstore.fork import Snapshot
from eventstore.read import Reader, SessionRef
from eventstore.wire.codec import quote
from eventstore.wire.event import snapshot_id

RELATED_MAX = 1000


async def sessions(database: Database, project_id: str | None, title: str | None, limit: int, cursor: str | None) -> bytes:
    """Return `{sessions: […], next}`, newest first; `next` is null at the end. Raises InvalidRequest."""
    before = _cursor(cursor)
    rows = await database.call("list_sessions", project_id=project_id, title_part=title, before_no=before, max_count=limit + 1)
    page = rows[:limit]
    following = quote(str(page[-1][0])) if len(rows) > limit else "null"
    items = ",".join(_session(row) for row in page)
    return f'{{"sessions":[{items}],"next":{following}}}'.encode()


async def snapshots(database: Database, ref: SessionRef | None, limit: int, cursor: str | None) -> bytes:
    """Return `{snapshots: […], next}`, oldest first; `next` is null at the end. Raises InvalidRequest."""
    after = _cursor(cursor) or 0
    rows = await database.call("list_snapshots", session_no=ref.session_no if ref else None, after_seq=after, max_count=limit + 1)
    page = rows[:limit]
    following = quote(str(page[-1][0])) if len(rows) > limit else "null"
    return f'{{"snapshots":[{",".join(_snapshot(*row) for row in page)}],"next":{following}}}'.encode()


def snapshot(one: Snapshot) -> bytes:
    """Return one snapshot. Raises SessionDeleted."""
    if one.deleted_seq is not None:
        raise SessionDeleted(session_id=one.session_id)
    return _snapshot(one.seq, one.session_id, one.up_to_seq, one.body, one.created_at).encode()


async def lineage(database: Database, reader: Reader, session_id: str) -> bytes:
    """Return a session with `parents` (nearest first), `forks` and `snapshots`. Raises SessionNotFound, SessionDeleted."""
    row = await reader.session_row(session_id)
    if row["deleted_seq"] is not None:
        raise SessionDeleted(session_id=session_id)
    no = row["session_no"]
    ancestors = await database.call("list_ancestors", session_no=no)
    forks = await database.call("list_forks", session_no=no, max_count=RELATED_MAX)
    taken = await database.call("list_snapshots", session_no=no, after_seq=0, max_count=RELATED_MAX)
    parent = ancestors[0][0] if ancestors else None
    own = _session((no, session_id, *(row[name] for name in _OWN_COLUMNS), parent, row["snapshot_seq"]))
    parts = {
        "parents": [_ancestor(*a) for a in ancestors],
        "forks": [_fork(*f) for f in forks],
        "snapshots": [_snapshot(*s) for s in taken],
    }
    lists = ",".join(f'"{name}":[{",".join(items)}]' for name, items in parts.items())
    return f"{own[:-1]},{lists}}}".encode()


_OWN_COLUMNS = ("project_id", "meta", "head_seq", "last_seq", "message_count", "created_at", "updated_at")


def _session(row: tuple[Any, ...]) -> str:
    no, session_id, project_id, meta, head_seq, last_seq, count, created_at, updated_at, parent_id, snapshot = row
    forked = f',"parent_session_id":{quote(parent_id)},"parent_snapshot_id":"{snapshot_id(snapshot)}"' if parent_id else ""
    return (
        f'{{"session_id":{quote(session_id)},"project_id":{quote(project_id)},"meta":{meta.decode()},"seq":{no},'
        f'"head_seq":{head_seq},"last_seq":{last_seq},"message_count":{count},'
        f'"created_at":"{utc(created_at)}","updated_at":"{utc(updated_at)}"{forked}}}'
    )


def _snapshot(seq: int, session_id: str, up_to_seq: int, body: bytes, created_at: Any) -> str:
    """The stored payload holds `up_to_seq`, `commit_msg` and `meta`; the rest is put before it."""
    head = f'{{"snapshot_id":"{snapshot_id(seq)}","session_id":{quote(session_id)},"seq":{seq},"created_at":"{utc(created_at)}",'
    return head + body.decode()[1:]


def _ancestor(session_id: str, project_id: str, snapshot: int, up_to_seq: int, is_deleted: bool) -> str:
    return (
        f'{{"session_id":{quote(session_id)},"project_id":{quote(project_id)},"snapshot_id":"{snapshot_id(snapshot)}",'
        f'"up_to_seq":{up_to_seq},"deleted":{str(is_deleted).lower()}}}'
    )


def _fork(session_id: str, project_id: str, snapshot: int, up_to_seq: int, created_at: datetime) -> str:
    return (
        f'{{"session_id":{quote(session_id)},"project_id":{quote(project_id)},"snapshot_id":"{snapshot_id(snapshot)}",'
        f'"up_to_seq":{up_to_seq},"created_at":"{utc(created_at)}"}}'
    )


def utc(moment: Any) -> str:
    """Return a moment as RFC 3339 in UTC."""
    return str(moment.isoformat()).replace("+00:00", "Z")


def _cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isdecimal() or len(cursor) > 18:
        raise InvalidRequest("`cursor` must be a `next` that this list gave.")
    return int(cursor)
