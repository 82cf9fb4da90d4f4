"""SIGTERM answers who waits and ends what is under way; nobody is left hanging, and other hubs do not notice."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import httpx2
import psycopg
import pytest
from hubs import HubProcess, running_hub
from restclient import Rest
from tails import Tail, becomes, stream

ANSWERED_S = 2
ENDED_S = 5
APPEND_LOCK = 128005062318953
MANY = httpx2.Limits(max_connections=1000, max_keepalive_connections=200)


@contextmanager
def append_lock(dsn: str) -> Iterator[psycopg.Connection]:
    """Hold the log's append lock."""
    with psycopg.connect(dsn) as connection:
        connection.execute("select pg_advisory_xact_lock(%s)", [APPEND_LOCK])
        yield connection
        connection.rollback()


@pytest.fixture(scope="module")
def other(module_database: str) -> Iterator[HubProcess]:
    """A hub on the same database that goes on."""
    with running_hub(module_database) as hub:
        yield hub


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_all_who_wait_get_a_whole_answer_and_the_process_ends_with_0(module_database, other, number):
    with running_hub(module_database) as hub:
        async with hub.client(limits=MANY) as http, other.client() as to_other:
            caller = Rest(to_other, "p")
            session_id = await caller.create()
            head = (await caller.append(session_id, "one"))["seq"]
            polls: list[httpx2.Response] = []
            streams: list[list[str]] = []
            ended: list[float] = []

            async def poll(path: str) -> None:
                polls.append(await http.get(path, params={"after_seq": head, "wait": 60}))
                ended.append(time.monotonic())

            async def follow() -> None:
                async with stream(http, session_id) as events:
                    streams.append([event["id"] async for event in events])
                ended.append(time.monotonic())

            async with anyio.create_task_group() as tasks:
                for _ in range(100):
                    tasks.start_soon(poll, f"/v1/sessions/{session_id}")
                for _ in range(10):
                    tasks.start_soon(poll, "/v1/log")
                for _ in range(20):
                    tasks.start_soon(follow)
                await becomes(http, waiting=130, within_s=30)
                began = time.monotonic()
                hub.signal(number)
            assert max(ended) - began < ANSWERED_S
            assert [response.status_code for response in polls] == [200] * 110
            pages = [response.json() for response in polls]
            assert {len(page.get("messages", page.get("events"))) for page in pages} == {0}
            assert {(page["next_after_seq"], page["head_seq"], page["has_more"]) for page in pages} == {(head, head, False)}
            assert streams == [[str(head - 1), str(head)]] * 20, "the end of a stream is a clean one"

            with anyio.fail_after(ENDED_S):
                code = await anyio.to_thread.run_sync(hub.process.wait)
            assert code == 0
            assert [line["event"] for line in hub.log_lines()][-1] == "stopped"
            assert not [line for line in hub.log().splitlines() if "Traceback" in line]

            tail = Tail(to_other, session_id, head)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tail.run)
                seq = (await caller.append(session_id, "two"))["seq"]
                await tail.reaches(seq)
                tasks.cancel_scope.cancel()


async def test_an_append_under_way_is_answered_and_is_in_the_log(module_database, other):
    with running_hub(module_database) as hub:
        async with hub.client() as http, hub.client() as idle, other.client() as to_other:
            caller = Rest(http, "p")
            session_id = await caller.create()
            assert (await idle.get("/healthz")).status_code == 200  # a connection that stays open and does nothing
            answers: list[int] = []

            async def append() -> None:
                answers.append((await caller.append(session_id, "under way"))["seq"])

            async with anyio.create_task_group() as tasks:
                with append_lock(module_database) as holder:
                    tasks.start_soon(append)
                    await waits_for_the_lock(holder)
                    hub.signal(signal.SIGTERM)
                    await refuses_connections(hub.url)
                    assert not answers
            assert len(answers) == 1
            with anyio.fail_after(ENDED_S):
                assert await anyio.to_thread.run_sync(hub.process.wait) == 0
            assert await Rest(to_other, "p").texts(session_id) == ["under way"]


async def waits_for_the_lock(connection: psycopg.Connection) -> None:
    """Return when somebody waits for the append lock."""
    with anyio.fail_after(5):
        while True:
            row = connection.execute("select count(*) from pg_locks where locktype = 'advisory' and not granted").fetchone()
            if row and row[0]:
                return
            await anyio.sleep(0.01)


async def refuses_connections(url: str) -> None:
    """Return when nobody listens there any more."""
    host, _, port = url.removeprefix("http://").partition(":")
    with anyio.fail_after(5):
        while True:
            try:
                await (await anyio.connect_tcp(host, int(port))).aclose()
            except OSError:
                return
            await anyio.sleep(0.01)
