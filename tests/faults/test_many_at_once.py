"""Many who come in one instant: none is refused because the others came too, and each is told what is so when it asks."""

import random
import resource
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import anyio
import pytest
from hubs import HubProcess, running_hub
from plants import edit
from restclient import Refused, Rest
from sql_log import SqlLog
from tails import eventually

STREAMS = 5000
SPARE_FILES = 500
CONNECTING_MAX = 200  # at once, below every listen queue
POOL_WAIT_S = 5
SLOW_S = 0.2
SLOW_SESSIONS = 300  # that many look-ups, ten at once, take longer than anyone waits for a connection


class Crowd:
    """Connections to a hub. When all stand, each asks for the start of its stream; answers are counted by status."""

    def __init__(self, hub: HubProcess, session_ids: list[str]) -> None:
        self._hub, self._session_ids = hub, session_ids
        self._go = anyio.Event()
        self._connecting = anyio.Semaphore(CONNECTING_MAX)
        self._connected = 0
        self.statuses: Counter[str] = Counter()

    async def opens(self) -> float:
        """Open all streams at once. Return the seconds until each had its first event, or was refused."""
        async with anyio.create_task_group() as tasks:
            for session_id in self._session_ids:
                tasks.start_soon(self._open, session_id)
            await eventually(self._count, lambda connected: connected == len(self._session_ids), within_s=60)
            began = time.monotonic()
            self._go.set()
        return time.monotonic() - began

    async def _count(self) -> int:
        return self._connected

    async def _open(self, session_id: str) -> None:
        url = urlsplit(self._hub.url)
        request = (
            f"GET /v1/sessions/{session_id}/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {self._hub.token}\r\n\r\n"
        )
        async with self._connecting:
            connection = await anyio.connect_tcp(url.hostname or "", url.port or 0)
        async with connection:
            self._connected += 1
            await self._go.wait()
            await connection.send(request.encode())
            received = b""
            while b"\nevent: session.created\n" not in received and b"problem+json" not in received:
                received += await connection.receive()
        self.statuses[received.split(b" ", 2)[1].decode()] += 1


@pytest.mark.parametrize("sessions", [1, 200])
async def test_5000_streams_opened_in_one_instant_are_all_answered(database, sessions):
    """At a hub that has just started and knows neither the token nor the sessions: all come again after a restart."""
    session_ids = create_sessions(database, sessions)
    with many_files() as files, running_hub(database) as hub:
        crowd = Crowd(hub, session_ids * (min(STREAMS, files - SPARE_FILES) // sessions))
        await crowd.opens()
    assert set(crowd.statuses) == {"200"}


async def test_while_the_database_is_slow_those_who_open_streams_wait_in_line(database):
    session_ids = create_sessions(database, SLOW_SESSIONS)
    with running_hub(database) as hub:
        slow_down(database, SLOW_S)
        crowd = Crowd(hub, session_ids)
        assert await crowd.opens() > POOL_WAIT_S, "else nobody had to wait, and this shows nothing"
    assert crowd.statuses == {"200": SLOW_SESSIONS}


async def test_who_asks_after_a_deletion_was_acknowledged_is_told_of_it_however_many_ask(database):
    """Each look at a session takes a while, so that others' looks which began before the deletion are under way after it."""
    with running_hub(database) as hub:
        slow_down(database, 0.05)
        async with hub.client() as http:
            caller, told = Rest(http, "p"), []
            for _ in range(10):
                session_id = await caller.create()
                async with anyio.create_task_group() as asking:
                    for _ in range(10):
                        asking.start_soon(ask_until_refused, caller, session_id)
                    await anyio.sleep(random.uniform(0, 0.05))  # any moment of a look
                    await caller.delete(session_id)
                    told.append((await http.get(f"/v1/sessions/{session_id}/entries")).status_code)
    assert told == [410] * 10


async def ask_until_refused(caller: Rest, session_id: str) -> None:
    with suppress(Refused):
        while True:
            await caller.call("GET", f"/v1/sessions/{session_id}/entries")


def slow_down(dsn: str, seconds: float) -> None:
    """Let each look at a session's row take so long, after it was seen what is there."""
    found = "where s.session_id = find_session.session_id"
    edit(dsn, "find_session", found, f"{found} and pg_sleep({seconds}) is not null")


def create_sessions(dsn: str, count: int) -> list[str]:
    """Create sessions past any hub, and return their ids."""
    session_ids = [f"ses_{number}" for number in range(count)]
    log = SqlLog(dsn)
    log.begin(*session_ids)
    log.close()
    return session_ids


@contextmanager
def many_files() -> Iterator[int]:
    """Let this process, and the hubs that it starts, open as many files as they may; gives how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield 65_536 if hard == resource.RLIM_INFINITY else hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
