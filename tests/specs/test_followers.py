"""Projections that follow the log: listed, rebuilt, proven right and purged as all others are."""

import json
from collections.abc import AsyncIterator

import anyio
import psycopg
import pytest
from hubs import HubProcess, running_hub
from restclient import Rest
from with_followers import NAMES


@pytest.fixture
async def followed(database: str) -> AsyncIterator[HubProcess]:
    """A hub of a program that has two followers."""
    with running_hub(database, program="with_followers", archive="off") as hub:
        yield hub


async def work(rest: Rest, path: str, body: object = None) -> dict:
    """The result of long work, its last line."""
    response = await rest.http.post(path, content=None if body is None else json.dumps(body))
    assert response.status_code == 200, response.text
    last = json.loads(response.text.splitlines()[-1])
    return last.get("result", last)


async def caught_up(rest: Rest) -> dict[str, dict]:
    """Every projection of the hub by name, when none lags."""
    with anyio.fail_after(20):
        while True:
            known = {one["name"]: one for one in (await rest.call("GET", "/v1/admin/projections"))["projections"]}
            if not any(known[name]["lag"] for name in NAMES):
                return known
            await anyio.sleep(0.02)


async def said(rest: Rest, count: int) -> str:
    session = await rest.create()
    await rest.append_all(session, [{"role": "user", "content": f"number {n}"} for n in range(count)])
    return session


async def test_a_follower_is_listed_with_where_it_stands_rebuilt_and_verified(followed: HubProcess):
    async with followed.client() as http:
        rest = Rest(http, "p")
        await said(rest, 20)
        known = await caught_up(rest)
        assert "checkpoint" not in known["sessions"]
        tallies = known["tallies"]
        assert (tallies["checkpoint"], tallies["lag"], tallies["tries"], tallies["last_error"], tallies["rows"]) == (
            21,
            0,
            0,
            None,
            1,
        )
        for name in NAMES:
            path = f"/v1/admin/projections/{name}"
            assert (await work(rest, f"{path}/verify"))["differences"] == []
            assert (await work(rest, f"{path}/rebuild"))["done_seq"] == 21
            assert (await work(rest, f"{path}/verify"))["differences"] == []
        await said(rest, 3)
        assert (await caught_up(rest))["tallies"]["checkpoint"] == 25


async def test_a_row_changed_by_hand_is_found_and_a_rebuild_mends_it(followed: HubProcess, database: str):
    async with followed.client() as http:
        rest = Rest(http, "p")
        session = await said(rest, 5)
        await caught_up(rest)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("update store.tallies set events = 7")
        (found,) = (await work(rest, "/v1/admin/projections/tallies/verify"))["differences"]
        assert (found["session_id"], found["column"], found["live"], found["fresh"]) == (session, "events", "7", "6")
        await work(rest, "/v1/admin/projections/tallies/rebuild")
        assert (await work(rest, "/v1/admin/projections/tallies/verify"))["differences"] == []


async def test_what_is_purged_is_gone_from_a_follower_too(followed: HubProcess, database: str):
    def bytes_of_all() -> int:
        with psycopg.connect(database) as connection:
            return int(connection.execute("select sum(bytes) from store.tallies").fetchall()[0][0])

    async with followed.client() as http:
        rest = Rest(http, "p")
        gone, _ = await said(rest, 50), await said(rest, 2)
        await caught_up(rest)
        before = bytes_of_all()
        report = await work(rest, "/v1/admin/purge", {"session_id": gone})
        assert report["events"] == 51
        assert bytes_of_all() < before / 2
        await said(rest, 1)
        await caught_up(rest)
        assert [(await work(rest, f"/v1/admin/projections/{name}/verify"))["differences"] for name in NAMES] == [[], []]


async def test_a_follower_that_a_program_brings_to_a_log_that_is_there_catches_up_while_the_hub_serves(database: str):
    with running_hub(database, archive="off") as hub:
        async with hub.client() as http:
            await said(Rest(http, "p"), 10)
            assert len((await Rest(http, "p").call("GET", "/v1/admin/projections"))["projections"]) == 2
    with running_hub(database, program="with_followers", archive="off") as hub:
        async with hub.client() as http:
            assert (await caught_up(Rest(http, "p")))["tallies"]["checkpoint"] == 11


async def test_a_purge_by_a_program_that_lacks_a_view_rebuilds_its_own_and_names_the_other(database: str):
    with running_hub(database, program="with_followers", archive="off"):
        pass
    with running_hub(database, archive="off") as hub:
        async with hub.client() as http:
            rest = Rest(http, "p")
            session = await rest.create(meta={"title": "hush-title"})
            report = await work(rest, "/v1/admin/purge", {"session_id": session})
            assert report["not_reached"][-2:] == [f"the view {name}: rebuild it by the Tasuki that made it" for name in NAMES]
            assert (await rest.sessions())["sessions"][0]["meta"] == {}
