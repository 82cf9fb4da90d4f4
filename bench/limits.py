"""Limits: what the disk and a bare PostgreSQL do, without any of ours in between."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg

from bench.messages import message, new_append_id

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
_TABLE = "create table if not exists plain (seq bigserial primary key, session_id text not null, body text not null)"
_INSERT = "insert into plain (session_id, body) values (%s, %s)"
_INSERT_AND_TELL = (
    "with one as (insert into plain (session_id, body) values (%s, %s) returning seq) select pg_notify('bench', seq::text) from one"
)
_INSERT_AND_NOTIFY = (
    "with one as (insert into plain (session_id, body) values (%s, %s) returning seq, body)"
    " select pg_notify('bench', seq || ' ' || body) from one"
)


@asynccontextmanager
async def connections(dsn: str, count: int) -> AsyncIterator[list[Connection]]:
    """Open connections, in autocommit; statements are prepared by themselves after a few repeats."""
    opened: list[Connection] = []
    try:
        while len(opened) < count:
            opened.append(await psycopg.AsyncConnection.connect(dsn, autocommit=True))
        await opened[0].execute(_TABLE)
        yield opened
    finally:
        for connection in opened:
            await connection.close()


async def insert(connection: Connection) -> int:
    """The naive append: one INSERT into a plain table, one commit."""
    await insert_text(connection, message(new_append_id()).decode())
    return 1


async def insert_and_notify(connection: Connection) -> int:
    """The naive live append: one INSERT that a reader is told of, one commit."""
    text = message(new_append_id()).decode()
    await connection.execute(_INSERT_AND_TELL, ["bench", text])
    return 1


async def insert_text(connection: Connection, text: str) -> None:
    """One INSERT of a given text."""
    await connection.execute(_INSERT, ["bench", text])


async def copy(connection: Connection, count: int) -> int:
    """COPY `count` messages into a plain table, one commit."""
    async with connection.cursor() as cursor, cursor.copy("copy plain (session_id, body) from stdin") as rows:
        for _ in range(count):
            await rows.write_row(("bench", message(new_append_id()).decode()))
    return count


class Notices:
    """A connection that sends and one that listens: how soon a notice arrives."""

    def __init__(self, sender: Connection, listener: Connection) -> None:
        self._sender, self._listener = sender, listener
        self._arrived: asyncio.Future[float] | None = None

    async def listen(self) -> None:
        """Say what is listened for."""
        await self._listener.execute("listen bench")

    async def receive(self) -> None:
        """Receive until cancelled."""
        async for _ in self._listener.notifies():
            if self._arrived and not self._arrived.done():
                self._arrived.set_result(time.perf_counter())

    async def bare_s(self) -> float:
        """Seconds from a NOTIFY without any write to its arrival."""
        return await self._time("select pg_notify('bench', %s)", ["ping"])

    async def durable_s(self) -> float:
        """Seconds from a durable insert of one row with a NOTIFY that carries it, to its arrival."""
        return await self._time(_INSERT_AND_NOTIFY, ["bench", message(new_append_id()).decode()])

    async def _time(self, query: str, arguments: list[str]) -> float:
        self._arrived = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        _, ended = await asyncio.gather(self._sender.execute(query, arguments), self._arrived)
        return ended - began


class SyncedFile:
    """A file of which 8 kB are written and synced at a time, as PostgreSQL syncs its log: pre-allocated, fdatasync."""

    BLOCK, BLOCKS = b"\x5a" * 8192, 2048

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.write(self._fd, self.BLOCK * self.BLOCKS)
        os.fsync(self._fd)
        self._next = 0

    async def write(self) -> None:
        """Write one block and wait until it is on the disk."""
        os.pwrite(self._fd, self.BLOCK, self._next * len(self.BLOCK))
        self._next = (self._next + 1) % self.BLOCKS
        getattr(os, "fdatasync", os.fsync)(self._fd)

    def close(self) -> None:
        os.close(self._fd)
