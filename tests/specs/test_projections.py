"""Projections: they can be seen, rebuilt while the hub serves, and proven right."""

import json

import psycopg
import pytest
from hubs import HubProcess
from restclient import Refused, Rest


@pytest.fixture(scope="module")
def hub(own_hub: HubProcess) -> HubProcess:
    """Here rows of the views are changed by hand, and all are rebuilt."""
    return own_hub


async def work(rest: Rest, name: str, verb: str) -> dict:
    """The result of long work, its last line."""
    response = await rest.http.post(f"/v1/admin/projections/{name}/{verb}")
    assert response.status_code == 200, response.text
    last = json.loads(response.text.splitlines()[-1])
    return last.get("result", last)


async def populate(rest: Rest) -> list[str]:
    session = await rest.create(meta={"title": "t"})
    await rest.append_all(session, [{"role": "user", "content": str(n)} for n in range(20)])
    fork = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    await rest.append(fork, "mine")
    await rest.call("PATCH", f"/v1/sessions/{fork}", {"title": "other"})
    return [session, fork]


async def test_a_rebuilt_view_is_the_same_and_verifies(rest: Rest):
    await populate(rest)
    query = {"project_id": rest.project_id}
    before = await rest.call("GET", "/v1/sessions", params=query)
    listing = await rest.call("GET", "/v1/admin/projections")
    names = [one["name"] for one in listing["projections"]]
    assert {"sessions", "snapshots"} <= set(names)
    for name in names:
        assert (await work(rest, name, "verify"))["differences"] == []
        assert (await work(rest, name, "rebuild"))["done_seq"] == await rest.log_head()
        assert (await work(rest, name, "verify"))["differences"] == []
    assert await rest.call("GET", "/v1/sessions", params=query) == before
    session = before["sessions"][0]["session_id"]
    assert (await rest.append(session, "goes on"))["duplicate"] is False


async def test_a_row_changed_by_hand_is_found_by_session_and_column(rest: Rest, module_database: str):
    session, _ = await populate(rest)
    with psycopg.connect(module_database, autocommit=True) as connection:
        connection.execute("update store.sessions set message_count = 7, title = 'x' where session_id = %s", [session])
    found = (await work(rest, "sessions", "verify"))["differences"]
    assert [(d["session_id"], d["column"], d["live"], d["fresh"]) for d in found] == [
        (session, "message_count", "7", "20"),
        (session, "title", "x", "t"),
    ]
    await work(rest, "sessions", "rebuild")
    assert (await work(rest, "sessions", "verify"))["differences"] == []


async def test_a_row_that_is_missing_or_too_many_is_found(rest: Rest, module_database: str):
    session, fork = await populate(rest)
    with psycopg.connect(module_database, autocommit=True) as connection:
        connection.execute("delete from store.sessions where session_id = %s", [fork])
        connection.execute("insert into store.snapshots values (999999999, 1, 1, now())")
    missing = (await work(rest, "sessions", "verify"))["differences"]
    assert [(d["session_id"], d["column"], d["live"], d["fresh"]) for d in missing] == [(fork, "(row)", "missing", "there")]
    extra = (await work(rest, "snapshots", "verify"))["differences"]
    assert [(d["row_key"], d["column"], d["live"], d["fresh"]) for d in extra] == [("999999999", "(row)", "there", "missing")]
    for name in ("sessions", "snapshots"):
        await work(rest, name, "rebuild")
    assert await rest.texts(fork) == [*map(str, range(20)), "mine"]
    assert session


async def test_a_view_that_is_not_there_is_told(rest: Rest):
    with pytest.raises(Refused) as refused:
        await rest.call("POST", "/v1/admin/projections/nope/verify")
    assert (refused.value.status, refused.value.code) == (404, "projection_not_found")
