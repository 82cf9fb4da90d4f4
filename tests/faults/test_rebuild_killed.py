"""A rebuild that is killed harms nothing: the live view serves all along, and the next rebuild cleans up."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import psycopg
import pytest
from hubs import HubProcess, running_hub
from restclient import Rest

from bench.fill import fill, session_ids
from eventstore.db import Database
from eventstore.settings import Settings
from projections.rebuild import Progress, rebuild
from projections.verify import Difference, verify

KILLS = 20
EVENTS = 30_000


async def tell(progress: Progress) -> None:
    """Nobody listens."""


async def differences(dsn: str) -> list[Difference]:
    database = Database(Settings(), dsn)
    await database.open()
    try:
        return [one for name in ("sessions", "snapshots") for one in await verify(database, name, tell)]
    finally:
        await database.close()


async def rebuilt(dsn: str) -> None:
    database = Database(Settings(), dsn)
    await database.open()
    try:
        for name in ("sessions", "snapshots"):
            await rebuild(database, name, tell)
    finally:
        await database.close()


@contextmanager
def under_load(hub: HubProcess) -> Iterator[list[str]]:
    """One writer and one reader of the list, until the context closes; what went wrong for them is in the list given."""
    stop, wrong = threading.Event(), list[str]()

    async def write(rest: Rest) -> None:
        while not stop.is_set():
            session = await rest.create()
            await rest.append_all(session, [{"role": "user", "content": str(n)} for n in range(5)])
            await rest.snapshot(session)

    async def read(rest: Rest) -> None:
        least: dict[str, int] = {}
        while not stop.is_set():
            page = await rest.call("GET", "/v1/sessions", params={"limit": 1000})
            counts = {one["session_id"]: one["message_count"] for one in page["sessions"]}
            wrong.extend(
                f"{name} went from {least[name]} to {counts.get(name)}" for name in least if counts.get(name, -1) < least[name]
            )
            least = counts

    async def both() -> None:
        async with hub.client() as http, anyio.create_task_group() as tasks:
            tasks.start_soon(write, Rest(http, "load"))
            tasks.start_soon(read, Rest(http, "load"))

    def run() -> None:
        try:
            anyio.run(both)
        except BaseException as error:  # noqa: BLE001  # told to the test, whatever it is
            wrong.append(repr(error))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield wrong
    finally:
        stop.set()
        thread.join(60)


@pytest.mark.parametrize("name", ["sessions"])
def test_killed_at_any_point_the_live_view_serves_and_stays_right(database: str, name: str):
    fill(database, EVENTS)
    script = Path(__file__).parent.parent / "support" / "rebuilding.py"
    draw, ended = random.Random(7), 0
    with running_hub(database) as hub, under_load(hub) as wrong:
        longest_s = 1.0
        for _ in range(KILLS):
            work = subprocess.Popen(
                [sys.executable, str(script), database, name], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
            )
            assert work.stdout
            assert work.stdout.readline() == b"begun\n"
            began = time.monotonic()
            try:
                work.wait(draw.uniform(0, longest_s))
                longest_s, ended = max(0.1, time.monotonic() - began), ended + 1
            except subprocess.TimeoutExpired:
                work.kill()
                work.wait()
            work.stdout.close()
    assert wrong == []
    assert ended < KILLS, "no rebuild was killed"
    assert anyio.run(differences, database) == []
    anyio.run(rebuilt, database)
    with psycopg.connect(database) as connection:
        assert connection.execute("select count(*) from pg_namespace where nspname = 'tasuki_rebuild'").fetchone() == (0,)
    assert anyio.run(differences, database) == []


def test_two_rebuilds_at_once_are_one(database: str):
    fill(database, EVENTS)
    script = Path(__file__).parent.parent / "support" / "rebuilding.py"
    command = [sys.executable, str(script), database, "sessions"]
    works = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(__file__).parents[2]) for _ in "12"]
    said = [work.communicate(timeout=60) for work in works]
    assert 0 in [work.returncode for work in works]
    for work, (_, error) in zip(works, said, strict=True):
        assert work.returncode == 0 or b"RebuildRunning" in error
    assert anyio.run(differences, database) == []


def test_a_view_changed_under_a_verify_is_not_a_difference(database: str):
    """The check itself can fail: a changed row is found, and an append during the verify is not."""
    fill(database, EVENTS)
    session = session_ids(EVENTS, 1)[0]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update store.sessions set tool_count = 1 where session_id = %s", [session])
    found = anyio.run(differences, database)
    assert [(one.session_id, one.column, one.live, one.fresh) for one in found] == [(session, "tool_count", "1", "0")]
