"""Views: sessions, snapshots and lineage as JSON. Meta is given as it is stored, never decoded."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from eventstore.db import Database
from eventstore.derive import clean
from eventstore.errors import InvalidRequest, SessionDeleted
from eventstore.fork import Snapshot
from eventstore.read import PAGE_BYTES_MAX, Reader, SessionRef
from eventstore.wire.codec import Source, dump, parse, parse_object
from eventstore.wire.event import snapshot_id

RELATED_MAX = 1000
PURGED = b'{"purged":true}'
_SHOWN = (
    "project_id", "meta", "head_seq", "last_seq", "message_count", "system_count", "user_count", "assistant_count", "tool_count",
    "snapshot_count", "fork_count", "input_tokens", "output_tokens", "tools", "models", "first_message_at", "last_message_at",
    "created_at", "updated_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions a list shows; what is None does not filter. `since` and `before`: when something last happened."""

    project_id: str | None = None
    agent: str | None = None
    title_part: str | None = None
    since: datetime | None = None
    before: datetime | None = None


async def sessions(database: Database, wanted: SessionFilter, limit: int, cursor: str | None) -> bytes:
    """Return `{sessions: […], next}`, newest first; `next` is null at the end. Raises InvalidRequest."""
    before_no = _cursor(cursor)
    rows = await database.call("list_sessions", **asdict(wanted), before_no=before_no, max_count=limit + 1)
    count = _fitting(rows, limit)
    pairs = map(_paired, rows[:count])
    items = [_session(no, name, dict(zip(_SHOWN, shown, strict=True)), *parent) for no, name, *shown, parent in pairs]
    return dump({"sessions": items, "next": _next(rows, count)}).encode()


async def snapshots(database: Database, ref: SessionRef | None, limit: int, cursor: str | None) -> bytes:
    """Return `{snapshots: […], next}`, oldest first; `next` is null at the end. Raises InvalidRequest."""
    after_seq, session_no = _cursor(cursor) or 0, ref.session_no if ref else None
    rows = await database.call("list_snapshots", session_no=session_no, after_seq=after_seq, max_count=limit + 1)
    count = _fitting(rows, limit)
    return dump({"snapshots": [_snapshot(*row) for row in rows[:count]], "next": _next(rows, count)}).encode()


async def archive_jobs(database: Database, status: str | None, limit: int, cursor: str | None) -> bytes:
    """Return `{jobs: […], next}`, newest first; `next` is null at the end. Raises InvalidRequest."""
    if status not in (None, "pending", "running", "done", "failed"):
        raise InvalidRequest("`status` must be pending, running, done or failed.")
    rows = await database.call("list_archive_jobs", status=status, before_seq=_cursor(cursor), max_count=limit + 1)
    names = ("session_id", "up_to_seq", "status", "retry_count", "last_error", "finished_at", "commit_id")
    jobs = [{"snapshot_id": snapshot_id(seq), **dict(zip(names, job, strict=True))} for seq, *job in rows[:limit]]
    for job in jobs:
        job["finished_at"] = utc(job["finished_at"]) if job["finished_at"] else None
    return dump({"jobs": jobs, "next": _next(rows, limit)}).encode()


def snapshot(one: Snapshot) -> bytes:
    """Return one snapshot. Raises SessionDeleted."""
    if one.deleted_seq is not None:
        raise SessionDeleted(session_id=one.session_id)
    return dump(_snapshot(one.seq, one.session_id, one.up_to_seq, one.body, one.created_at)).encode()


async def lineage(database: Database, reader: Reader, session_id: str) -> bytes:
    """Return a session with `parents` (nearest first), `forks`, `snapshots` and `subagents`.

    Raises SessionNotFound, SessionDeleted.
    """
    row = await reader.session_row(session_id)
    if row["deleted_seq"] is not None:
        raise SessionDeleted(session_id=session_id)
    no = row["session_no"]
    ancestors = await database.call("list_ancestors", session_no=no)
    forks = await database.call("list_forks", session_no=no, max_count=RELATED_MAX)
    taken = await database.call("list_snapshots", session_no=no, after_seq=0, max_count=RELATED_MAX)
    started = await subagents(database, row)
    shown = {name: row[name] for name in _SHOWN}
    related = {
        "parents": [_relative(*a[:4]) | {"deleted": a[4]} for a in ancestors],
        "forks": [_relative(*f[:4]) | {"created_at": utc(f[4])} for f in forks],
        "snapshots": [_snapshot(*s) for s in taken],
        "subagents": [{"session_id": s[0], "project_id": s[1], "created_at": utc(s[2])} for s in started],
    }
    return dump(_session(no, session_id, shown, ancestors[0][0] if ancestors else None, row["snapshot_seq"]) | related).encode()


async def subagents(database: Database, row: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return (session_id, project_id, created_at) of the sessions that one started as sub-agents, at most RELATED_MAX."""
    told = parse(row["meta"].decode()).get("native_session_id")
    native_id = clean(told) if isinstance(told, str) and told else None
    return await database.call("list_subagents", session_no=row["session_no"], native_id=native_id, max_count=RELATED_MAX)


def _session(no: int, session_id: str, shown: dict[str, Any], parent_id: str | None, snapshot: int | None) -> dict[str, Any]:
    known = {name: utc(value) if isinstance(value, datetime) else value for name, value in shown.items() if value is not None}
    own = {"session_id": session_id, "seq": no, **known, "meta": Source(shown["meta"].decode())}
    return own | ({"parent_session_id": parent_id, "parent_snapshot_id": snapshot_id(snapshot or 0)} if parent_id else {})


def _paired(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of a list with its last two columns, the parent and the snapshot, as one."""
    return (*row[:-2], row[-2:])


def _snapshot(seq: int, session_id: str, up_to_seq: int, body: bytes, created_at: Any) -> dict[str, Any]:
    """What is known of a snapshot, and what its payload says beside `up_to_seq`, which purging leaves."""
    known: dict[str, Any] = {"snapshot_id": snapshot_id(seq), "session_id": session_id, "seq": seq, "created_at": utc(created_at)}
    if body == PURGED:
        return known | {"up_to_seq": up_to_seq, "purged": True}
    document = parse_object(body.decode())
    said = {name: Source(document.source(name)) for name in ("commit_msg", "meta")}
    return known | {"up_to_seq": up_to_seq, **said}


def _relative(session_id: str, project_id: str, snapshot: int, up_to_seq: int) -> dict[str, Any]:
    return {"session_id": session_id, "project_id": project_id, "snapshot_id": snapshot_id(snapshot), "up_to_seq": up_to_seq}


def utc(moment: Any) -> str:
    """Return a moment as RFC 3339 in UTC."""
    return str(moment.isoformat()).replace("+00:00", "Z")


def _fitting(rows: list[tuple[Any, ...]], limit: int) -> int:
    """How many rows make a page: at most `limit` and PAGE_BYTES_MAX of meta or payload, their fourth column, never below one."""
    total = 0
    for count, row in enumerate(rows[:limit]):
        total += len(row[3])
        if count and total > PAGE_BYTES_MAX:
            return count
    return min(limit, len(rows))


def _next(rows: list[tuple[Any, ...]], limit: int) -> str | None:
    """The cursor for what follows: the number of the last row shown, None at the end."""
    return str(rows[limit - 1][0]) if len(rows) > limit else None


def _cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdecimal()) or len(cursor) > 18:
        raise InvalidRequest("`cursor` must be a `next` that this list gave.")
    return int(cursor)
