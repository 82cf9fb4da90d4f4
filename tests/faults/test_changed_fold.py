"""A fold that was changed: the new version is built by who starts with it, while who reads the old one goes on."""

import anyio
import psycopg
import pytest
from hubs import running_hub
from restclient import Rest

from bench.fill import fill
from cli.serve import bring_up_to_date
from eventstore.db import Database
from eventstore.errors import SchemaNewer
from eventstore.settings import Settings
from projections.registry import outdated, states
from sql import migrate as migrations

EVENTS = 8_016


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program as it will be when snapshots have one column more."""
    then = [
        migrations.Projection(
            one.name, 2, one.text.replace("created_at   timestamptz not null", "created_at timestamptz not null, n int")
        )
        if one.name == "snapshots"
        else one
        for one in migrations.projections()
    ]
    monkeypatch.setattr(migrations, "projections", lambda: then)
    monkeypatch.setattr("projections.registry.projections", lambda: then)


async def versions(dsn: str) -> dict[str, int]:
    database = Database(Settings(), dsn)
    await database.open()
    try:
        return {state.name: state.version for state in await states(database)}
    finally:
        await database.close()


async def start_with(dsn: str, stale: list[str]) -> list[str]:
    database = Database(Settings(), dsn)
    await database.open()
    try:
        await bring_up_to_date(database, stale)
        return await outdated(database)
    finally:
        await database.close()


async def test_the_new_version_is_built_while_readers_of_the_old_one_go_on(database: str, next_version: None):
    fill(database, EVENTS)
    with running_hub(database) as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            session = await rest.create()
            taken = await rest.snapshot(session)
            assert await versions(database) == {"sessions": 4, "snapshots": 1}
            stale = await anyio.to_thread.run_sync(migrations.migrate, database)
            assert stale.stale == ["snapshots"]
            done = anyio.Event()
            failures: list[Exception] = []

            async def read_on() -> None:
                while not done.is_set():
                    try:
                        assert (await rest.call("GET", f"/v1/snapshots/{taken['snapshot_id']}"))["session_id"] == session
                    except Exception as error:  # noqa: BLE001  # told to the test, whatever it is
                        failures.append(error)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read_on)
                assert await start_with(database, stale.stale) == []
                done.set()
            assert failures == []
            assert await versions(database) == {"sessions": 4, "snapshots": 2}
            assert (await rest.snapshot(session))["seq"] > taken["seq"], "the old server writes on, by the new fold"


def test_an_older_program_refuses_a_newer_view_and_names_both(database: str):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("update store.projections set version = 7 where name = 'sessions'")
    with pytest.raises(SchemaNewer, match=r"version 7.*version 4"):
        migrations.migrate(database)
