"""Kept: one connection for short calls one after another. Taking one from the pool is a good part of such a call."""

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any

import anyio
import psycopg
from psycopg_pool import AsyncConnectionPool

from eventstore.errors import StoreUnavailable
from eventstore.line import Line, Rows
from eventstore.sqlstate import is_connection_lost, translate

Pool = AsyncConnectionPool[psycopg.AsyncConnection[Any]]
_PARAMETER = re.compile(r"%\((\w+)\)b")


class Kept:
    """A connection that stays out of the pool between calls, until one fails. Not for calls at the same time.

    Where it leads straight to PostgreSQL its statements are prepared; `busy_pid` is the backend that is at work on a call.
    """

    def __init__(self, pool: Pool, run: Callable[..., Awaitable[Any]], queries: dict[str, str], answer_s: float) -> None:
        self._pool, self._run, self._queries, self._answer_s = pool, run, queries, answer_s
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._line: Line | None = None
        self._prepared: dict[str, list[str]] = {}  # the arguments' names, in order
        self._pid: int | None = None
        self.busy_pid: int | None = None

    async def call(self, function: str, **arguments: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a function. Raises as `Database.call`."""
        rows: list[tuple[Any, ...]] = await self._run(self._queries[function], arguments, None, self)
        return rows

    async def rows(self, function: str, **arguments: Any) -> Rows:
        """Return the rows of a function as they came over the wire, in less time than `call`. Raises as `Database.call`."""
        names = self._prepared.get(function)
        if self._line and names is not None:
            try:
                return await self._ask(self._line, function, [arguments[name] for name in names])
            except psycopg.Error as error:
                if not is_connection_lost(error):
                    raise translate(error) from None
        rows: Rows = await self._run(self._queries[function], arguments, lambda cursor: Rows(cursor.pgresult), self)
        await self._prepare(function)
        return rows

    async def _ask(self, line: Line, function: str, arguments: list[Any]) -> Rows:
        self.busy_pid = self._pid
        try:
            result = await line.ask(function.encode(), arguments, self._answer_s)
            if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
                raise psycopg.errors.error_from_result(result)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self.give_back()
            if isinstance(error, TimeoutError):
                raise StoreUnavailable("The database does not answer.") from None
            raise
        finally:
            self.busy_pid = None
        return Rows(result)

    async def _prepare(self, function: str) -> None:
        """Prepare what the next calls use. A fault here is no call's: the one before is done, the next has another connection."""
        if self._connection and self._line:
            numbers = count(1)
            query = _PARAMETER.sub(lambda _: f"${next(numbers)}", self._queries[function])
            try:
                with anyio.fail_after(self._answer_s), suppress(psycopg.errors.DuplicatePreparedStatement):  # was kept before
                    await self._connection.execute(f"prepare {function} as {query}".encode(), prepare=False)
            except (psycopg.Error, TimeoutError):
                await self.give_back()
            else:
                self._prepared[function] = _PARAMETER.findall(self._queries[function])

    async def give_back(self) -> None:
        """Let the pool have the connection, which looks whether it is whole."""
        if self._connection:
            connection, self._connection = self._connection, None
            if self._line:
                self._line.rest()
            self._line = self._pid = None
            self._prepared.clear()
            connection.prepare_threshold = None
            await self._pool.putconn(connection)

    async def __aenter__(self) -> psycopg.AsyncConnection[Any]:
        if self._line:
            self._line.rest()
        if self._connection is None:
            self._connection = await self._pool.getconn()
            try:
                if await leads_straight(self._connection):
                    self._connection.prepare_threshold = 0
                    self._line, self._pid = Line(self._connection.pgconn), self._connection.info.backend_pid
            except BaseException:
                await self.give_back()
                raise
        self.busy_pid = self._pid
        return self._connection

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.busy_pid = None
        if kind:
            await self.give_back()


async def leads_straight(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Whether PostgreSQL itself is at the other end: a pooler greets in its own name."""
    cursor = await connection.execute("select pg_backend_pid()")
    return await cursor.fetchone() == (connection.info.backend_pid,)
