"""Between the first read and the first notice there is no gap: LISTEN comes before the read, at every connecting.

The poll, which would cover up a gap, is off here.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import psycopg
import pytest
from hubs import HubProcess, running_hub
from restclient import Rest

from eventstore.db import Database
from eventstore.listener import Listener
from eventstore.settings import Settings

NEVER_S = 3600


class Interposed(Database):
    """A database in which something happens once, just `before` or `after` the listener reads the log's state."""

    moment = ""

    def arm(self, moment: str, happening: Callable[[], Awaitable[object]]) -> None:
        self.moment, self._happening = moment, happening

    async def call(self, function: str, **arguments: Any) -> list[tuple[Any, ...]]:
        moment, self.moment = (self.moment, "") if function == "log_state" else ("", self.moment)
        if moment == "before":
            await self._happening()
        rows = await super().call(function, **arguments)
        if moment == "after":
            await self._happening()
        return rows


class ReadsBeforeItListens(Listener):
    """The mistake that rule 2 forbids."""

    async def _use_connection(self) -> None:
        connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True)
        async with connection:
            await self.catch_up()
            await connection.execute("listen tasuki")
            async for notice in connection.notifies():
                self._take(notice.payload)


@pytest.fixture(scope="module")
def hub(module_database: str) -> Iterator[HubProcess]:
    """Who appends."""
    with running_hub(module_database) as hub:
        yield hub


@asynccontextmanager
async def connecting(hub: HubProcess, dsn: str, kind: type[Listener], moment: str) -> AsyncIterator[anyio.Event]:
    """A listener that connects, while an event is appended at that moment. The event is set when it wakes anyone."""
    woken = anyio.Event()
    settings = Settings(dsn=dsn)
    database = Interposed(settings, dsn)
    async with hub.client() as http, anyio.create_task_group() as tasks:
        await database.open()
        listener = kind(database, dsn, lambda session_nos, patched_nos: woken.set(), NEVER_S, NEVER_S)
        await listener.start()
        database.arm(moment, Rest(http, "p").create)
        tasks.start_soon(listener.run)
        yield woken
        tasks.cancel_scope.cancel()
    await database.close()


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_what_is_appended_while_a_listener_connects_is_noticed(hub, module_database, moment):
    async with connecting(hub, module_database, Listener, moment) as woken:
        with anyio.fail_after(5):
            await woken.wait()


async def test_and_a_listener_that_reads_before_it_listens_misses_it(hub, module_database):
    async with connecting(hub, module_database, ReadsBeforeItListens, "after") as woken:
        with anyio.move_on_after(1):
            await woken.wait()
        assert not woken.is_set()
