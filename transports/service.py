"""Everything a caller can do, once. REST, MCP and web decode, call, encode; no rule lives in them."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import anyio

from adapters.target import Target
from eventstore import diff, fork, messages, sessions, views
from eventstore.access import Access, Principal
from eventstore.committer import Committer
from eventstore.db import Database
from eventstore.diff import Side
from eventstore.entries import Entry, entries_page
from eventstore.errors import CursorAhead, InvalidRequest, SnapshotNotFound
from eventstore.fork import Snapshot
from eventstore.listener import Listener
from eventstore.prepare import Writer, Written
from eventstore.read import PAGE_COUNT_MAX, Page, SessionRef
from eventstore.settings import Settings
from eventstore.tail import Tails
from eventstore.views import SessionFilter
from eventstore.wire.event import snapshot_seq
from projections import registry
from projections.purge import purge_event, purge_session
from projections.rebuild import Progress, rebuild
from projections.verify import verify
from transports.export_session import Exporter
from transports.import_file import Importer

WAIT_S_MAX = 60.0
CONVERSIONS_MAX = 2  # at once, in one server process: each holds a whole session
OnProgress = Callable[[dict[str, Any]], Awaitable[None]]


class Archive(Protocol):
    """What the service asks of the archive; the composer hands it in, since workers are strangers here."""

    async def status(self) -> dict[str, Any]: ...
    async def retry(self) -> int: ...
    async def verify(self) -> dict[str, Any]: ...
    def wake(self) -> None: ...


class Service:
    """One hub, as one server process sees it. Made by `cli/serve.py`, used by the skins."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        access: Access,
        listener: Listener,
        tails: Tails,
        committer: Committer,
        writer: Writer,
        archive: Archive,
    ) -> None:
        self.archive = archive
        self.settings, self.access = settings, access
        self.listener, self.tails, self.committer = (
            listener,
            tails,
            committer,
        )  # each has a task, which the composer runs
        self._database, self._writer, self._reader = database, writer, writer.reader
        turns = anyio.CapacityLimiter(CONVERSIONS_MAX)
        self._exporter = Exporter(settings, database, writer.reader, turns)
        self._importer = Importer(settings, writer, writer.reader, turns)

    @property
    def log_id(self) -> str:
        """Which history the seqs belong to."""
        return self.listener.state.log_id

    def health(self) -> dict[str, Any]:
        """How the process is, without asking anyone."""
        return {
            "status": "ok",
            "live": self.listener.live,
            "database": "up" if self.listener.is_database_there else "down",
            "replica": self.listener.state.is_replica,
            "redaction": "on" if self.settings.redaction else "off",
            "head_seq": self.listener.state.head_seq,
            "log_id": self.log_id,
            "waiting": self.tails.waiting,
        }

    async def ready(self) -> None:
        """Return when the database answers now. Raises StoreUnavailable, SchemaMissing."""
        await self._database.call("last_seq")

    # --- writing

    async def create_session(self, who: Principal, text: str) -> Written:
        """Create a session from `{project_id, meta?, append_id?}`."""
        return await sessions.create_session(self._writer, who, text)

    async def append(self, who: Principal, session_id: str, text: str, expected_seq: int | None = None) -> Written:
        """Append one message, or several all or none."""
        return await messages.append_messages(self._writer, who, await self._reader.find(session_id), text, expected_seq)

    async def record_native(self, who: Principal, session_id: str, text: str) -> Written:
        """Keep records of an agent that are no messages."""
        return await messages.record_native(self._writer, who, await self._reader.find(session_id), text)

    async def patch_meta(self, who: Principal, session_id: str, text: str, append_id: str | None) -> Written:
        """Merge a patch into a session's meta (RFC 7396)."""
        return await sessions.patch_meta(self._writer, who, await self._reader.find(session_id), text, append_id)

    async def delete_session(self, who: Principal, session_id: str, reason: str) -> Written:
        """Hide a session; its forks go on."""
        return await sessions.delete_session(self._writer, who, await self._reader.find(session_id), reason)

    async def create_snapshot(self, who: Principal, text: str) -> Written:
        """Name a point in a session."""
        return await fork.create_snapshot(self._writer, who, text)

    async def fork(self, who: Principal, snapshot_id: str, text: str) -> Written:
        """Create a session that goes on from a snapshot."""
        return await fork.fork(self._writer, who, await self._find_snapshot(snapshot_id), text)

    async def import_file(self, who: Principal, raw: bytes, agent: str | None, project_id: str) -> Written:
        """Bring an agent's file in; what is there already is not written again."""
        return await self._importer.import_file(who, raw, agent, project_id)

    # --- reading

    async def read(
        self, session_id: str, after_seq: int, limit: int, wait_s: float, native: bool, log_id: str | None
    ) -> tuple[SessionRef, Page]:
        """Return a page of a session's messages, waiting up to `wait_s` for the first."""
        _check_window(limit, wait_s)
        await self._check_cursor(after_seq, log_id)
        began_in = self.log_id
        ref = await self._reader.find(session_id)
        page = await self.tails.next_page(ref, "natives" if native else "messages", after_seq, limit, wait_s)
        await self._check_cursor(after_seq, began_in)
        return ref, page

    async def open_stream(self, session_id: str, after_seq: int, log_id: str | None) -> SessionRef:
        """Check that a session's events can be followed from `after_seq`. Raises as `read`."""
        await self._check_cursor(after_seq, log_id)
        return await self._reader.find_open(session_id)

    async def next_events(self, ref: SessionRef, after_seq: int, wait_s: float) -> Page:
        """Return a session's next events as server-sent events, waiting up to `wait_s`; empty: nothing yet."""
        return await self.tails.next_page(ref, "events", after_seq, PAGE_COUNT_MAX, wait_s, is_following=True)

    async def read_entries(self, session_id: str, after_seq: int, limit: int, log_id: str | None) -> list[Entry]:
        """Return a session's next messages, with what they keep for the way home, and native records; none: that was all."""
        _check_window(limit, 0)
        ref = await self.open_stream(session_id, after_seq, log_id)
        return await entries_page(self._database, ref, after_seq, limit)

    async def read_log(self, after_seq: int, limit: int, wait_s: float, log_id: str | None) -> Page:
        """Return a page of the whole log, waiting up to `wait_s` for the first event."""
        _check_window(limit, wait_s)
        await self._check_cursor(after_seq, log_id)
        began_in = self.log_id
        page = await self.tails.next_page(None, "log", after_seq, limit, wait_s)
        await self._check_cursor(after_seq, began_in)
        return page

    async def list_sessions(self, wanted: SessionFilter, limit: int, cursor: str | None) -> bytes:
        """Return a page of sessions, newest first, as JSON."""
        _check_window(limit, 0)
        return await views.sessions(self._database, wanted, limit, cursor)

    async def list_snapshots(self, session_id: str | None, limit: int, cursor: str | None) -> bytes:
        """Return a page of snapshots, oldest first, as JSON."""
        _check_window(limit, 0)
        ref = await self._reader.find_open(session_id) if session_id else None
        return await views.snapshots(self._database, ref, limit, cursor)

    async def snapshot(self, snapshot_id: str) -> bytes:
        """Return one snapshot as JSON."""
        return views.snapshot(await self._find_snapshot(snapshot_id))

    async def lineage(self, session_id: str) -> bytes:
        """Return a session with its parents, forks and snapshots as JSON."""
        return await views.lineage(self._database, self._reader, session_id)

    async def export(self, session_id: str, agent: str, target: Target) -> list[bytes]:
        """Return a session in an agent's own format, with the mapping report, as pieces of a JSON object."""
        return await self._exporter.export(session_id, agent, target, self.log_id)

    # --- looking after the log

    async def check_log(self) -> dict[str, Any]:
        """Return whether the log is dense, 1 … head, as it must be; else the first seq that is missing."""
        events, head_seq, first_missing = (await self._database.call("check_log"))[0]
        is_dense = first_missing is None and events == head_seq
        return {"dense": is_dense, "events": events, "head_seq": head_seq, "first_missing": first_missing, "log_id": self.log_id}

    async def new_epoch(self) -> dict[str, Any]:
        """Give the log another identity, so that every cursor kept outside is refused: after a file-system copy was put back."""
        before = self.log_id
        await self._database.call("new_epoch")
        await self.listener.catch_up()
        return {"log_id": self.log_id, "replaced": before, "head_seq": self.listener.state.head_seq}

    async def diff(self, a: str, b: str, limit: int, after: dict[str, int]) -> bytes:
        """Return what two sessions or snapshots share by lineage, and what each has alone, as JSON."""
        _check_window(limit, 0)
        sides = [await self._side(name) for name in (a, b)]
        return await diff.diff(self._reader, sides[0], sides[1], after, limit)

    async def archive_jobs(self, status: str | None, limit: int, cursor: str | None) -> bytes:
        """Return a page of archive jobs, newest first, as JSON."""
        _check_window(limit, 0)
        return await views.archive_jobs(self._database, status, limit, cursor)

    # --- views of the log

    async def projections(self) -> dict[str, Any]:
        """Return every projection with its version, size and, while one is rebuilt, how far."""
        states = await registry.states(self._database)
        return {"projections": [state.as_json() for state in states], "head_seq": self.listener.state.head_seq}

    async def check_session(self, session_id: str) -> None:
        """Raise SessionNotFound unless there is, or was, a session of this id."""
        await self._reader.find(session_id)

    def check_projection(self, name: str) -> None:
        """Raise ProjectionNotFound unless there is a projection of this name."""
        registry.projection(name)

    async def rebuild_projection(self, name: str, on_progress: OnProgress) -> dict[str, Any]:
        """Rebuild a projection while the hub serves."""
        done = await rebuild(self._database, name, lambda progress: on_progress(progress.as_json()))
        return {"name": name, **done.as_json()}

    async def purge(self, session_id: str | None, seq: int | None, on_progress: OnProgress) -> dict[str, Any]:
        """Purge a session's own events, or one event, and return the report."""

        async def tell(progress: Progress) -> None:
            await on_progress(progress.as_json())

        if session_id is not None:
            report = await purge_session(self._database, self._reader, session_id, tell)
        else:
            report = await purge_event(self._database, self._reader, seq or 0, tell)
        self._reader.forget(None)
        self.archive.wake()
        return report.as_json()

    async def verify_projection(self, name: str, on_progress: OnProgress) -> dict[str, Any]:
        """Compare a projection with a fresh fold of the log."""
        differences = await verify(self._database, name, lambda progress: on_progress(progress.as_json()))
        return {"name": name, "differences": [difference.as_json() for difference in differences]}

    async def _side(self, name: str) -> Side:
        if name.startswith("snap_"):
            return await diff.snapshot_side(self._reader, name, await self._find_snapshot(name))
        return await diff.session_side(self._reader, name)

    async def _find_snapshot(self, snapshot_id: str) -> Snapshot:
        seq = snapshot_seq(snapshot_id)
        rows = await self._database.call("find_snapshot", snapshot_seq=seq) if seq else []
        if not seq or not rows:
            raise SnapshotNotFound(f"There is no snapshot {snapshot_id[:80]!a}.", snapshot_id=snapshot_id[:80])
        return Snapshot(seq, *rows[0])

    async def _check_cursor(self, after_seq: int, log_id: str | None) -> None:
        """Raise CursorAhead where a cursor is of another history, or beyond the head (a replica may lag: not there)."""
        state = self.listener.state
        if log_id and log_id != state.log_id:
            await self.listener.catch_up()
        if log_id and log_id != state.log_id:
            raise CursorAhead(
                f"log_id {log_id[:80]!a} is not this log's. It was restored or replaced: start again from after_seq=0"
                " with its log_id, and append again what is missing, under the same append ids.",
                log_id=state.log_id,
                head_seq=state.head_seq,
            )
        if after_seq > state.head_seq and not state.is_replica:
            await self.listener.catch_up()
            if after_seq > state.head_seq and not state.is_replica:
                raise CursorAhead(
                    f"after_seq {after_seq} lies beyond the log's head {state.head_seq}. The log was restored from an"
                    " earlier state, or the cursor is another log's: start again from after_seq=0.",
                    log_id=state.log_id,
                    head_seq=state.head_seq,
                )


def _check_window(limit: int, wait_s: float) -> None:
    if not 1 <= limit <= PAGE_COUNT_MAX:
        raise InvalidRequest(f"`limit` must be from 1 to {PAGE_COUNT_MAX}.")
    if not 0 <= wait_s <= WAIT_S_MAX:
        raise InvalidRequest(f"`wait` must be from 0 to {WAIT_S_MAX:.0f} seconds.")
