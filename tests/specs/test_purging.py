"""Purging: what was said is gone for good, that something was said stays, and sending it again brings nothing back."""

import json

import anyio
import psycopg
import pytest
from hubs import HubProcess
from restclient import Refused, Rest


@pytest.fixture(scope="module")
def hub(own_hub: HubProcess) -> HubProcess:
    """Here the tables themselves are looked into."""
    return own_hub


async def purge(rest: Rest, **what) -> dict:
    response = await rest.http.post("/v1/admin/purge", content=json.dumps(what))
    if response.status_code >= 400:
        problem = response.json()
        raise Refused(problem["code"], problem["detail"], response)
    last = json.loads(response.text.splitlines()[-1])
    if "error" in last:
        raise Refused(last["error"]["code"], last["error"]["detail"])
    return last["result"]


async def test_a_purged_event_leaves_a_tombstone_in_its_place(rest: Rest):
    session = await rest.create()
    seqs = [(await rest.append(session, text, append_id=text))["seq"] for text in ("a", "leaked", "c")]
    report = await purge(rest, seq=seqs[1])
    assert (report["session_id"], report["events"]) == (session, 1)
    assert any("backups" in line for line in report["not_reached"])
    messages = await rest.read(session)
    assert messages[1] == {"session_id": session, "seq": seqs[1], "purged": True}
    assert [m.get("content") for m in messages] == ["a", None, "c"]


async def test_sending_it_again_is_a_repeat_and_brings_nothing_back(rest: Rest):
    session = await rest.create()
    seq = (await rest.append(session, "leaked", append_id="k"))["seq"]
    await purge(rest, seq=seq)
    again = await rest.append(session, "leaked", append_id="k")
    other = await rest.append(session, "another body", append_id="k")
    assert (again["seq"], again["duplicate"], other["seq"], other["duplicate"]) == (seq, True, seq, True)
    assert (await rest.read(session))[0] == {"session_id": session, "seq": seq, "purged": True}


async def test_a_purged_session_says_nothing_anywhere(rest: Rest, module_database: str):
    session = await rest.create(meta={"title": "hush-title"})
    await rest.append(session, "hush-content", native={"raw": "hush-native"}, metadata={"model": "hush-model"})
    await rest.snapshot(session, commit_msg="hush-commit")
    await rest.call("PATCH", f"/v1/sessions/{session}", {"note": "hush-note"})
    fork = await rest.fork((await rest.snapshot(session))["snapshot_id"], meta={"title": "mine"})
    report = await purge(rest, session_id=session)
    assert (report["events"], report["natives"], report["forks"]) == (5, 1, [fork])
    with psycopg.connect(module_database) as connection:
        for table in ("log", "natives", "sessions", "snapshots"):
            rows = connection.execute(f"select t::text, encode(t::text::bytea, 'escape') from store.{table} t").fetchall()
            assert not [row for row in rows if "hush" in row[0] or b"hush".hex() in row[0]], table
    assert [m.get("purged") for m in await rest.read(fork)] == [True]
    listed = await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id})
    assert {one["session_id"]: one["meta"] for one in listed["sessions"]} == {session: {}, fork: {"title": "mine"}}
    snapshots = (await rest.call("GET", "/v1/snapshots", params={"session_id": session}))["snapshots"]
    assert [one["purged"] for one in snapshots] == [True, True]


async def test_purging_twice_is_the_same_as_once(rest: Rest):
    session = await rest.create()
    await rest.append(session, "x")
    assert (await purge(rest, session_id=session))["events"] == 2
    assert (await purge(rest, session_id=session))["events"] == 0


async def test_a_session_goes_on_after_a_purge(rest: Rest):
    session = await rest.create()
    seq = (await rest.append(session, "x"))["seq"]
    await purge(rest, seq=seq)
    await rest.append_all(session, [{"role": "user", "content": "y"}], expected_seq=seq)
    assert [m.get("content") for m in await rest.read(session)] == [None, "y"]


async def test_what_is_not_there_or_not_named_is_told(rest: Rest):
    for what, code in (
        ({"seq": 10**9}, "event_not_found"),
        ({"session_id": "ses_nope"}, "session_not_found"),
        ({}, "invalid_request"),
    ):
        with pytest.raises(Refused) as refused:
            await purge(rest, **what)
        assert refused.value.code == code


async def test_the_log_refuses_every_other_change(rest: Rest, module_database: str):
    session = await rest.create()
    await rest.append(session, "x", native={"a": 1})
    with psycopg.connect(module_database, autocommit=True) as connection:
        for change in (
            "update store.log set body = ''",
            "delete from store.log",
            "truncate store.log",
            "delete from store.natives",
        ):
            with pytest.raises(psycopg.Error, match="append-only"):
                connection.execute(change)


async def test_a_purge_waits_for_a_rebuild_that_may_have_seen_what_goes(rest: Rest, module_database: str):
    session = await rest.create(meta={"title": "hush-title"})
    done: list[dict] = []

    async def purge_it() -> None:
        done.append(await purge(rest, session_id=session))

    with psycopg.connect(module_database, autocommit=True) as other:
        assert other.execute("select store.begin_rebuild('snapshots')").fetchone() == (True,)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(purge_it)
            with anyio.fail_after(20):
                while not await is_purged(rest, session):  # noqa: ASYNC110  # the hub does it
                    await anyio.sleep(0.05)
            listed = await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id})
            assert (listed["sessions"][0]["meta"], done) == ({"title": "hush-title"}, []), "it is not told to be done before it is"
            other.execute("select store.end_rebuild()")
    assert done[0]["events"] == 1
    listed = await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id})
    assert listed["sessions"][0]["meta"] == {}


async def is_purged(rest: Rest, session: str) -> bool:
    events = (await rest.call("GET", "/v1/log", params={"limit": 1000}))["events"]
    return all(event["payload"].get("purged") for event in events if event["session_id"] == session)
