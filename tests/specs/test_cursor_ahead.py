"""A cursor of another history is refused, with what to do about it; nobody waits for ever for what will never come."""

import time
from collections.abc import Iterator
from functools import partial

import anyio
import httpx2
import psycopg
import pytest
from hubs import HubProcess, running_hub
from restclient import Refused, Rest
from tails import becomes, eventually, health

NOTICED_S = 2.5  # the poll's turn, and some
NOBODY = "host=127.0.0.1 port=1"


@pytest.fixture(scope="module")
def hub(own_hub: HubProcess) -> HubProcess:
    """Here the log becomes another one."""
    return own_hub


async def test_a_log_id_that_is_another_log_s_is_refused_with_what_to_do(rest: Rest):
    session_id = await rest.create()
    for path in (f"/v1/sessions/{session_id}", "/v1/log", f"/v1/sessions/{session_id}/events"):
        problem = await refused(rest.http, path, log_id="log_of_another_life")
        assert problem["log_id"] == (await health(rest.http))["log_id"]
        assert "after_seq=0" in str(problem["detail"])
        assert problem["retryable"] is False


async def test_a_cursor_beyond_the_head_is_refused_at_once_however_long_it_would_wait(rest: Rest):
    session_id = await rest.create()
    head = await rest.log_head()
    for after_seq in (head + 1, head + 10_000, 10**17):
        for path in (f"/v1/sessions/{session_id}", "/v1/log"):
            began = time.monotonic()
            problem = await refused(rest.http, path, after_seq=after_seq, wait=60)
            assert time.monotonic() - began < 5
            assert problem["head_seq"] == head
        await refused(rest.http, f"/v1/sessions/{session_id}/events", after_seq=after_seq)
    stream = await rest.http.get(f"/v1/sessions/{session_id}/events", headers={"last-event-id": str(head + 1)})
    assert (stream.status_code, stream.json()["code"]) == (409, "cursor_ahead")


async def test_a_cursor_at_the_head_and_the_log_s_own_id_are_not_refused(rest: Rest):
    session_id = await rest.create()
    head, log_id = await rest.log_head(), (await health(rest.http))["log_id"]
    page = await rest.page(session_id, head, log_id=log_id, wait="0.1")
    assert (page["messages"], page["log_id"]) == ([], log_id)


@pytest.fixture(scope="module")
def deaf(module_database: str) -> Iterator[HubProcess]:
    """Another server of the same log, which hears of nothing by itself."""
    with running_hub(module_database, poll_s=3600, listen_dsn=NOBODY) as deaf:
        yield deaf


async def test_a_seq_that_another_server_just_gave_is_not_ahead_though_no_notice_came_yet(rest: Rest, deaf: HubProcess):
    session_id = await rest.create()
    async with deaf.client() as http:
        for number in range(5):
            seq = (await rest.append(session_id, str(number)))["seq"]
            assert (await Rest(http, "p").page(session_id, seq))["next_after_seq"] == seq
            assert (await Rest(http, "p").page(session_id, seq - 1))["next_after_seq"] == seq


async def test_a_new_epoch_is_noticed_and_old_cursors_are_refused(rest: Rest, module_database: str):
    await sees_a_new_epoch(rest, module_database, live="notify")


async def test_a_new_epoch_is_noticed_where_no_notice_comes(module_database: str):
    with running_hub(module_database, listen_dsn=NOBODY) as hub:
        async with hub.client() as http:
            await sees_a_new_epoch(Rest(http, "p"), module_database, live="polling")


async def sees_a_new_epoch(rest: Rest, dsn: str, live: str) -> None:
    session_id = await rest.create()
    seq = (await rest.append(session_id, "before"))["seq"]
    before = (await becomes(rest.http, live=live))["log_id"]
    new_epoch(dsn)
    after = await another_log_id(rest.http, before)
    for path in (f"/v1/sessions/{session_id}", "/v1/log"):
        await refused(rest.http, path, after_seq=seq, log_id=before, wait=60)
    page = await rest.page(session_id, 0, log_id=after)
    assert [message["content"] for message in page["messages"]] == ["before"]
    assert (await rest.http.get("/v1/log")).headers["tasuki-log-id"] == after


async def test_a_reader_that_knows_of_the_new_epoch_before_the_server_is_believed(
    rest: Rest, deaf: HubProcess, module_database: str
):
    session_id = await rest.create()
    before = (await health(rest.http))["log_id"]
    async with deaf.client() as http:
        new_epoch(module_database)
        after = await another_log_id(rest.http, before)
        assert (await health(http))["log_id"] != after
        assert (await Rest(http, "p").page(session_id, 0, log_id=after))["log_id"] == after


async def test_a_stream_of_the_old_history_ends_and_its_cursor_is_refused(rest: Rest, module_database: str):
    session_id = await rest.create()
    head, before = await rest.log_head(), (await health(rest.http))["log_id"]
    ids: list[str] = []

    async def follow() -> None:
        async with rest.http.stream("GET", f"/v1/sessions/{session_id}/events") as response:
            ids.extend([line async for line in response.aiter_lines() if line.startswith("id:")])

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await becomes(rest.http, waiting=1)
            new_epoch(module_database)
            await another_log_id(rest.http, before)
            await rest.append(session_id, "of the new history")
    assert ids == [f"id: {head}"], "what came after the change is not told as if it followed"


async def test_who_waited_across_the_change_is_told_and_gets_nothing_of_the_new_history(rest: Rest, module_database: str):
    session_id = await rest.create()
    head, before = await rest.log_head(), (await health(rest.http))["log_id"]
    async with anyio.create_task_group() as tasks:
        for path in (f"/v1/sessions/{session_id}", "/v1/log"):
            tasks.start_soon(partial(refused, rest.http, path, after_seq=head, wait=60))
        await becomes(rest.http, waiting=2)
        new_epoch(module_database)
        await another_log_id(rest.http, before)
        await rest.append(session_id, "of the new history")


async def another_log_id(http: httpx2.AsyncClient, before: str) -> str:
    said = await eventually(lambda: health(http), lambda said: said["log_id"] != before, within_s=NOTICED_S)
    return str(said["log_id"])


async def refused(http: httpx2.AsyncClient, path: str, **query: str | int) -> dict[str, object]:
    with pytest.raises(Refused) as refusal:
        await Rest(http, "p").call("GET", path, params=query)
    assert (refusal.value.status, refusal.value.code) == (409, "cursor_ahead")
    return refusal.value.problem


def new_epoch(dsn: str) -> None:
    """What an operator does after a file-system copy was put back, from another process."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select store.new_epoch()")
