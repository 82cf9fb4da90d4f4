"""The database: one pool, one way to call a function, one table from SQLSTATE to error.

`call("append_events", requests=…)` is the whole vocabulary; argument types are read from the catalogue once, arrays and
results travel in binary. Every function may be called twice with the same effect, so a call whose connection broke is
made once more on another one. A call without an answer for some seconds more than a statement may take is given up: the
link is dead, though nobody closed it. No session state is relied on, and no prepared statement where a pooler stands between.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from eventstore.errors import (
    InvalidSettings,
    PooledConnection,
    SchemaMissing,
    StoreUnavailable,
)
from eventstore.kept import Kept, Pool, leads_straight
from eventstore.line import Rows
from eventstore.settings import Settings
from eventstore.sqlstate import is_connection_lost, translate

_CONNECTION_WAIT_S = 5.0
_APPENDS_AT_ONCE = 2  # small and large ones: reads leave them their connections
_RECONNECT_S = 2.0  # then an attempt is given up, and the next call begins one: a longer one's tries lie ever further apart


class Dedicated:
    """One connection for long work: its session state is its own, and ends with it."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], queries: dict[str, str]) -> None:
        self._connection, self._queries = connection, queries

    async def call(self, function: str, **arguments: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a function; not repeated when the connection is lost. Raises as `Database.call`."""
        return await self._run(self._queries[function], arguments)

    async def run_script(self, text: str) -> None:
        """Run the text of an SQL file."""
        await self._run(text, None)

    @asynccontextmanager
    async def one_moment(self) -> AsyncIterator[None]:
        """A transaction that sees the database as it is at its first statement; what it makes is undone at its end."""
        await self._connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        async with self._connection.transaction(force_rollback=True):
            yield

    async def _run(self, query: str, arguments: dict[str, Any] | None) -> list[tuple[Any, ...]]:
        try:
            cursor = self._connection.cursor(binary=arguments is not None)
            await cursor.execute(query, arguments)
            return await cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise translate(error) from None


class Database:
    """A pool of connections to one PostgreSQL. Open it before use. `reads_max`: how many reads may use it at once."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        self._timeouts = (settings.statement_timeout_s, settings.lock_timeout_s)
        self._answer_s = settings.statement_timeout_s + _CONNECTION_WAIT_S
        self._queries: dict[str, str] = {}
        self._kept: Kept | None = None
        self._direct_dsn = settings.listen_dsn or dsn
        self._pool: Pool = AsyncConnectionPool(
            conninfo=checked_dsn(dsn),
            kwargs={"autocommit": True, "prepare_threshold": None, **connection_arguments()},
            min_size=2,
            max_size=max(2, settings.pool_size_max),
            configure=self._configure,
            timeout=_CONNECTION_WAIT_S,
            reconnect_timeout=_RECONNECT_S,
            open=False,
        )
        self._short: Kept | None = None
        self._is_short_taken = False
        self.reads_max = max(1, settings.pool_size_max - _APPENDS_AT_ONCE)
        if self.reads_max > 1:
            self._short = Kept(self._pool, self._run, self._queries, self._answer_s)
            self.reads_max -= 1

    async def open(self) -> None:
        """Connect and read the functions' signatures. Raises StoreUnavailable, SchemaMissing."""
        await self._pool.open()
        try:
            await self._pool.wait(timeout=_CONNECTION_WAIT_S)
        except PoolTimeout:
            await self._pool.close()
            raise StoreUnavailable("The database does not answer.") from None
        for name, arguments, types, is_value in await self._rows(_SIGNATURES, {}):
            pairs = [f"{a} => %({a})b::{t}" for a, t in zip(arguments or [], types or [], strict=True)]
            what = "select" if is_value else "select * from"
            self._queries[name] = f"{what} store.{name}({', '.join(pairs)})"  # names from the catalogue
        if "append_events" not in self._queries:
            raise SchemaMissing("The database has no Tasuki schema. Run `tasuki migrate`.")

    @asynccontextmanager
    async def dedicated(self) -> AsyncIterator[Dedicated]:
        """A connection beside the pool, whose session is its own: locks and settings last as long as it does.

        Raises StoreUnavailable; PooledConnection where a pooler stands in between, which may give each statement another
        session, and keeps a lock for who is long gone.
        """
        try:
            connection = await psycopg.AsyncConnection.connect(
                self._direct_dsn, autocommit=True, prepare_threshold=None, **connection_arguments()
            )
        except psycopg.Error as error:
            raise translate(error) from None
        async with closing(connection):
            try:
                is_straight = await leads_straight(connection)
            except psycopg.Error as error:
                raise translate(error) from None
            if not is_straight:
                raise PooledConnection(
                    "The connection leads through a pooler. Set TASUKI_LISTEN_DSN to a way that leads straight to PostgreSQL."
                )
            yield Dedicated(connection, self._queries)

    @property
    def busy_pid(self) -> int | None:
        """The backend that is at work on a call of the kept connection, where that is known."""
        return self._kept.busy_pid if self._kept else None

    async def close(self) -> None:
        if self._short:
            await self._short.give_back()
        await self._pool.close()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator["Kept"]:
        """One connection of the pool for short calls one after another: taking it anew each time is a good part of such a call."""
        kept = self._kept = Kept(self._pool, self._run, self._queries, self._answer_s)
        try:
            yield kept
        finally:
            with anyio.CancelScope(shield=True):
                await kept.give_back()

    async def call(self, function: str, **arguments: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a function. Raises the error that its SQLSTATE stands for."""
        return await self._rows(self._queries[function], arguments)

    @property
    def can_call_short(self) -> bool:
        return self._short is not None and not self._is_short_taken

    async def call_short(self, function: str, **arguments: Any) -> Rows:
        """As `call_raw`, for few rows that somebody waits for: in less time, beside the others, one at a time."""
        assert self._short
        self._is_short_taken = True
        try:
            return await self._short.rows(function, **arguments)
        finally:
            self._is_short_taken = False

    async def call_raw(self, function: str, **arguments: Any) -> Rows:
        """As `call`, for long answers: the rows as they came over the wire, in binary."""
        rows: Rows = await self._run(self._queries[function], arguments, lambda cursor: Rows(cursor.pgresult))
        return rows

    async def _rows(self, query: str, arguments: dict[str, Any]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = await self._run(query, arguments, None)
        return rows

    async def _run(self, query: str, arguments: dict[str, Any], take: Any, kept: "Kept | None" = None) -> Any:
        for is_last in (False, True):
            try:
                with anyio.fail_after(self._answer_s):
                    async with kept or self._pool.connection() as connection:
                        cursor = connection.cursor(binary=True)
                        await cursor.execute(query, arguments)
                        return take(cursor) if take else await cursor.fetchall()
            except TimeoutError:
                raise StoreUnavailable("The database does not answer.") from None
            except (psycopg.Error, PoolTimeout) as error:
                if is_last or not is_connection_lost(error):
                    raise translate(error) from None
                with anyio.move_on_after(_CONNECTION_WAIT_S):
                    await self._pool.check()  # where one connection broke, the others did too
        raise AssertionError("unreachable")

    async def _configure(self, connection: psycopg.AsyncConnection[Any]) -> None:
        statement_s, lock_s = self._timeouts
        await connection.execute(_CONFIGURE, [f"{statement_s * 1000:.0f}", f"{lock_s * 1000:.0f}"])


@asynccontextmanager
async def closing(connection: psycopg.AsyncConnection[Any]) -> AsyncIterator[None]:
    """Close a connection at the end, at once and also when cancelled: the driver's own context would first have a word with it."""
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await connection.close()


def connection_arguments() -> dict[str, Any]:
    """What every connection of the hub is opened with: a dead peer is noticed within about 20 s."""
    return {
        "application_name": "tasuki",
        "connect_timeout": 5,
        "keepalives_idle": 10,
        "keepalives_interval": 3,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
    }


def checked_dsn(dsn: str) -> str:
    """Return the DSN. Raises InvalidSettings without repeating it: it may hold a password."""
    try:
        conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise InvalidSettings("TASUKI_DSN or TASUKI_LISTEN_DSN is no PostgreSQL connection string.") from None
    return dsn


_SIGNATURES: str = (
    "select p.proname, p.proargnames[1:p.pronargs], array(select format_type(t, null) from unnest(p.proargtypes::oid[]) t),"
    " not p.proretset and p.prorettype not in ('record'::regtype, 'void'::regtype)"
    " from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'store' and p.prokind = 'f'"
)
_CONFIGURE: str = "select store.configure_connection(%s::integer, %s::integer)"

__all__: Sequence[str] = ("Database", "Dedicated", "Kept", "Rows", "checked_dsn", "closing", "connection_arguments")
