"""The database: one pool, one way to call a function, one table from SQLSTATE to error.

`call("append_events", requests=…)` is the whole vocabulary; argument types are read from the catalogue once, arrays and
results travel in binary. Every function may be called twice with the same effect, so a call whose connection broke is
made once more on another one. A call without an answer for some seconds more than a statement may take is given up: the
link is dead, though nobody closed it. No prepared statements and no session state are relied on: a pooler may stand between.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from eventstore.errors import (
    Internal,
    InvalidSettings,
    LogBusy,
    PooledConnection,
    ReadOnlyReplica,
    SchemaMissing,
    StoreError,
    StoreUnavailable,
)
from eventstore.settings import Settings

_Pool = AsyncConnectionPool[psycopg.AsyncConnection[Any]]
_CONNECTION_WAIT_S = 5.0
_RECONNECT_S = 2.0  # then an attempt is given up, and the next call begins one: a longer one's tries lie ever further apart
_ERROR_OF_SQLSTATE: dict[str, type[StoreError]] = {
    "55P03": LogBusy,  # lock_not_available: lock_timeout
    "25006": ReadOnlyReplica,  # read_only_sql_transaction
    "25P03": StoreUnavailable,  # idle_in_transaction_session_timeout
    "57014": StoreUnavailable,  # query_canceled: statement_timeout
    "53300": StoreUnavailable,  # too_many_connections
    "42883": SchemaMissing,  # undefined_function
    "3F000": SchemaMissing,  # invalid_schema_name
    "42P01": SchemaMissing,  # undefined_table
}


class Rows:
    """The rows of one answer, read by place without making a tuple of each; `bytes` values are the wire's."""

    def __init__(self, result: Any) -> None:
        self._value = result.get_value
        self.count: int = result.ntuples

    def bytes(self, row: int, column: int) -> bytes | None:
        value: bytes | None = self._value(row, column)
        return value

    def int(self, row: int, column: int) -> int | None:
        value = self._value(row, column)
        return None if value is None else int.from_bytes(value, "big", signed=True)


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

    async def backend_pid(self) -> int:
        """Return which of the server's processes answers."""
        pid: int = (await self._run(_BACKEND_PID, None))[0][0]
        return pid

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


class Kept:
    """A connection that stays out of the pool between calls, until one fails. Not for calls at the same time.

    Where it leads straight to PostgreSQL its statements are prepared.
    """

    def __init__(self, pool: _Pool, run: Callable[..., Awaitable[Any]], queries: dict[str, str]) -> None:
        self._pool, self._run, self._queries = pool, run, queries
        self._connection: psycopg.AsyncConnection[Any] | None = None

    async def call(self, function: str, **arguments: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a function. Raises as `Database.call`."""
        rows: list[tuple[Any, ...]] = await self._run(self._queries[function], arguments, None, self)
        return rows

    async def give_back(self) -> None:
        """Let the pool have the connection, which looks whether it is whole."""
        if self._connection:
            connection, self._connection = self._connection, None
            connection.prepare_threshold = None
            await self._pool.putconn(connection)

    async def __aenter__(self) -> psycopg.AsyncConnection[Any]:
        if self._connection is None:
            self._connection = await self._pool.getconn()
            try:
                cursor = await self._connection.execute(_BACKEND_PID)
                if await cursor.fetchone() == (self._connection.info.backend_pid,):
                    self._connection.prepare_threshold = 0
            except BaseException:
                await self.give_back()
                raise
        return self._connection

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind:
            await self.give_back()


class Database:
    """A pool of connections to one PostgreSQL. Open it before use."""

    def __init__(self, settings: Settings, dsn: str) -> None:
        self._timeouts = (settings.statement_timeout_s, settings.lock_timeout_s)
        self._answer_s = settings.statement_timeout_s + _CONNECTION_WAIT_S
        self._queries: dict[str, str] = {}
        self._direct_dsn = settings.listen_dsn or dsn
        self._pool: _Pool = AsyncConnectionPool(
            conninfo=checked_dsn(dsn),
            kwargs={"autocommit": True, "prepare_threshold": None, **connection_arguments()},
            min_size=2,
            max_size=max(2, settings.pool_size_max),
            configure=self._configure,
            timeout=_CONNECTION_WAIT_S,
            reconnect_timeout=_RECONNECT_S,
            open=False,
        )

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
        async with connection:
            dedicated = Dedicated(connection, self._queries)
            if await dedicated.backend_pid() != connection.info.backend_pid:  # a pooler greets in its own name
                raise PooledConnection(
                    "The connection leads through a pooler. Set TASUKI_LISTEN_DSN to a way that leads straight to PostgreSQL."
                )
            yield dedicated

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator["Kept"]:
        """One connection of the pool for short calls one after another: taking it anew each time is a good part of such a call."""
        kept = Kept(self._pool, self._run, self._queries)
        try:
            yield kept
        finally:
            with anyio.CancelScope(shield=True):
                await kept.give_back()

    async def call(self, function: str, **arguments: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a function. Raises the error that its SQLSTATE stands for."""
        return await self._rows(self._queries[function], arguments)

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
                if is_last or not _is_connection_lost(error):
                    raise translate(error) from None
                with anyio.move_on_after(_CONNECTION_WAIT_S):
                    await self._pool.check()  # where one connection broke, the others did too
        raise AssertionError("unreachable")

    async def _configure(self, connection: psycopg.AsyncConnection[Any]) -> None:
        statement_s, lock_s = self._timeouts
        await connection.execute(_CONFIGURE, [f"{statement_s * 1000:.0f}", f"{lock_s * 1000:.0f}"])


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


def translate(error: Exception) -> StoreError:
    """Return the hub's error for a driver's one; its text may hold data and is not passed on."""
    sqlstate = getattr(error, "sqlstate", None) or ""
    known = _ERROR_OF_SQLSTATE.get(sqlstate)
    if known:
        return known(sqlstate=sqlstate)
    if _is_connection_lost(error) or isinstance(error, PoolTimeout):
        return StoreUnavailable()
    return Internal(f"The database refused with SQLSTATE {sqlstate or 'none'}.", sqlstate=sqlstate)


def _is_connection_lost(error: Exception) -> bool:
    """Class 08 and 57P0x, or an operational error without a state: the link is gone, the outcome unknown."""
    sqlstate: str | None = getattr(error, "sqlstate", None)
    if sqlstate:
        return sqlstate.startswith(("08", "57P0"))
    return isinstance(error, psycopg.OperationalError) and not isinstance(error, PoolTimeout)


_SIGNATURES: str = (
    "select p.proname, p.proargnames[1:p.pronargs], array(select format_type(t, null) from unnest(p.proargtypes::oid[]) t),"
    " not p.proretset and p.prorettype not in ('record'::regtype, 'void'::regtype)"
    " from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'store' and p.prokind = 'f'"
)
_BACKEND_PID: str = "select pg_backend_pid()"
_CONFIGURE: str = "select store.configure_connection(%s::integer, %s::integer)"

__all__: Sequence[str] = ("Database", "Dedicated", "Rows", "checked_dsn", "connection_arguments", "translate")
