"""Serve: the one composition root. Database, log, service and skins are put together here and nowhere else."""

import contextlib
import logging
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread
import uvicorn
from starlette.types import ASGIApp

from eventstore.access import Access
from eventstore.append import Commit
from eventstore.committer import Committer
from eventstore.db import Database
from eventstore.embedded import EmbeddedPostgres
from eventstore.errors import EmbeddedUnavailable, InvalidSettings, PooledConnection, RebuildRunning, StoreUnavailable
from eventstore.listener import Listener
from eventstore.prepare import Writer
from eventstore.read import Reader
from eventstore.redact import Redactor
from eventstore.settings import Settings
from eventstore.tail import Tails
from projections.rebuild import Progress, rebuild
from projections.registry import outdated
from sql.migrate import migrate
from transports.mcp.http import mcp_endpoint
from transports.rest.app import rest_app
from transports.service import Service
from workers.archive.desk import ArchiveDesk
from workers.archive.worker import ArchiveWorker
from workers.follow import Followers

log = logging.getLogger("tasuki.serve")
DATABASE_WAIT_S = 30.0
GRACE_S = 10
KEEP_ALIVE_S = 75  # more than clients and proxies keep an idle connection: who closes first loses no request
BACKLOG = 4096
PIPELINED_MAX = 8  # requests of one connection, the one that is answered and those that wait for their turn
RESTART_CHECK_S = 1.0


async def serve(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. `on_ready(url)` is called when requests are answered.

    Raises InvalidSettings (an address that cannot be bound), StoreUnavailable, EmbeddedUnavailable, SchemaNewer.
    """
    listening = _bind(settings)
    settings.data_path.mkdir(parents=True, exist_ok=True)
    async with postgres(settings) as (dsn, embedded), _hub(settings, dsn) as hub, _skins(hub) as app:
        config = uvicorn.Config(
            app,
            http=_HTTP,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=KEEP_ALIVE_S,
            backlog=BACKLOG,
            server_header=False,
            proxy_headers=False,  # nothing here looks at the client's address or scheme
        )
        server = _Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, server, hub.tails)
            tasks.start_soon(_tell_when_ready, server, _url(listening), on_ready)
            if embedded:
                tasks.start_soon(_keep_running, embedded, hub.listener)
            await server.serve(sockets=[listening])
            tasks.cancel_scope.cancel()
    log.info("stopped")


if sys.platform == "win32":
    _HTTP: Literal["auto"] = "auto"
else:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

    class _HTTP(HttpToolsProtocol):
        """Tells each request under way when its client has left, also where others were sent behind it: uvicorn tells the last
        one alone, and looks at nothing that comes while one waits for its turn."""

        _unanswered: Sequence[RequestResponseCycle] = ()

        def on_headers_complete(self) -> None:
            before = self.cycle
            super().on_headers_complete()
            if self.cycle is not before:
                self._unanswered = [*(one for one in self._unanswered if not one.response_complete), self.cycle]
            if len(self._unanswered) <= PIPELINED_MAX:
                self.flow.resume_reading()

        def connection_lost(self, exc: Exception | None) -> None:
            for one in self._unanswered:
                if not one.response_complete:
                    one.disconnected = True
                    one.message_event.set()
            super().connection_lost(exc)


class _Server(uvicorn.Server):
    """Leaves signals to us: its own handling ends the process before the database is stopped."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def _skins(hub: Service) -> AsyncIterator[ASGIApp]:
    """The application: REST, and MCP at its path."""
    mcp = mcp_endpoint(hub)
    async with mcp.running():
        yield rest_app(hub, {"/mcp": mcp})


@contextlib.asynccontextmanager
async def postgres(settings: Settings) -> AsyncIterator[tuple[str, EmbeddedPostgres | None]]:
    """The DSN to use: the one given, else that of the embedded PostgreSQL, running while the context is open."""
    if settings.dsn:
        yield settings.dsn, None
        return
    embedded = EmbeddedPostgres(settings.data_path)
    try:
        yield await anyio.to_thread.run_sync(embedded.start), embedded
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(embedded.stop)


async def _keep_running(embedded: EmbeddedPostgres, listener: Listener) -> None:
    """Start the embedded PostgreSQL again when it has died under us."""
    while True:
        await anyio.sleep(RESTART_CHECK_S)
        if not listener.is_database_there:
            try:
                await anyio.to_thread.run_sync(embedded.start)
            except EmbeddedUnavailable as error:
                log.error("embedded PostgreSQL does not start", extra={"facts": {"code": error.code}})


@contextlib.asynccontextmanager
async def _hub(settings: Settings, dsn: str) -> AsyncIterator[Service]:
    """A service with its tasks running."""
    stale = await anyio.to_thread.run_sync(migrated, dsn)
    database = Database(settings, dsn)
    await database.open()
    try:
        await bring_up_to_date(database, stale)
        archivist = ArchiveWorker(database, settings.archive_path, settings.archive_remote) if settings.archive else None
        await _tell_of_a_pooler(database)
        followers = Followers(database, settings.poll_s)
        hub = await compose(settings, database, dsn, archivist, followers)
        async with anyio.create_task_group() as tasks:
            for run in (hub.tails.run, hub.listener.run, hub.committer.run, followers.run):
                tasks.start_soon(run)
            if archivist:
                tasks.start_soon(archivist.run)
            yield hub
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await database.close()


async def _tell_of_a_pooler(database: Database) -> None:
    """Say so once when workers, which go on looking for a direct way to the database, will find none."""
    try:
        async with database.dedicated():
            pass
    except PooledConnection as error:
        log.warning("archive and followers wait", extra={"facts": {"code": error.code, "detail": error.detail}})
    except StoreUnavailable:  # it was there a moment ago, and the listener tells
        pass


async def compose(
    settings: Settings,
    database: Database,
    dsn: str,
    archivist: ArchiveWorker | None = None,
    followers: Followers | None = None,
) -> Service:
    """Put a service together on an open database; its tasks (tails, listener, committer) are not started yet."""
    access, reader = Access(database), Reader(database)
    await access.ensure_admin_token(settings.token_path)
    tails = Tails(reader, short_wait_s=2 * settings.poll_s)

    def wake_workers() -> None:
        for worker in (archivist, followers):
            if worker:
                worker.wake()

    def changed(session_nos: set[int] | None, patched_nos: set[int]) -> None:
        reader.forget(None if session_nos is None else patched_nos)
        tails.wake(session_nos)
        wake_workers()

    def committed(commit: Commit | None) -> bool:
        if commit is None:
            changed(None, set())
            return False
        by_session = commit.by_session()
        written = [(ref, events) for session_id, events in by_session.items() if (ref := reader.recall(session_id))]
        are_given = tails.committed(written, listener.is_next(commit.first_seq))
        # after them: whom a fault left untold is told by the notice, or by the poll
        listener.committed(commit.first_seq, commit.last_seq, are_all_told=len(written) == len(by_session))
        wake_workers()
        return are_given

    listener = Listener(database, settings.listen_dsn or dsn, changed, settings.poll_s, settings.probe_s)
    await listener.start()
    committer = Committer(database, committed, settings.queue_requests_max, settings.queue_bytes_max)
    redactor = Redactor(settings.redaction, settings.redaction_allow)
    hash_key = (await database.call("log_hash_key"))[0][0]
    writer = Writer(settings, database, reader, committer, redactor, hash_key)
    desk = ArchiveDesk(database, settings.archive_path, settings.archive_remote, archivist)
    return Service(settings, database, access, listener, tails, committer, writer, desk)


async def bring_up_to_date(database: Database, stale: list[str]) -> None:
    """Rebuild the views that this program has in a newer version; those who serve on the old ones go on."""

    async def tell(progress: Progress) -> None:
        log.info("rebuilding", extra={"facts": progress.as_json()})

    while stale:
        log.info("rebuilding", extra={"facts": {"projection": stale[0]}})
        try:
            await rebuild(database, stale[0], tell)
        except RebuildRunning:  # another server that started with us
            await anyio.sleep(1)
        stale = await outdated(database)


def migrated(dsn: str) -> list[str]:
    """Migrate and return the views to be rebuilt, waiting a while for a database that starts at the same time as we do."""
    deadline = time.monotonic() + DATABASE_WAIT_S
    while True:
        try:
            report = migrate(dsn)
        except StoreUnavailable:
            if time.monotonic() > deadline:
                raise
            log.warning("waiting for the database")
            time.sleep(1)
        else:
            if report.applied:
                log.info("migrated", extra={"facts": {"applied": report.applied}})
            return report.stale


async def _stop_on_signal(server: uvicorn.Server, tails: Tails) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            server.force_exit = server.should_exit
            server.should_exit = True
            tails.stop()


async def _tell_when_ready(server: uvicorn.Server, url: str, on_ready: Callable[[str], None]) -> None:
    while not server.started:  # noqa: ASYNC110  # uvicorn tells by this attribute only
        await anyio.sleep(0.01)
    log.info("serving", extra={"facts": {"url": url}})
    on_ready(url)


def _bind(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        reason = error.strerror or "not possible"
        raise InvalidSettings(
            f"Cannot listen on {settings.host}:{settings.port}: {reason}. Is a hub running already? Choose another with --port."
        ) from None
    return listening


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def token_hint(path: Path) -> str:
    """Say where the token is, not what it is."""
    return f"The admin token is in {path}"
