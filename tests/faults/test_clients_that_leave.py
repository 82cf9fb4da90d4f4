"""A waiter is a place in a list: it costs no database connection, shares its read, and is free again when its client leaves."""

import time
from functools import partial
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
from hubs import HubProcess, running_hub
from restclient import Rest
from tails import becomes, eventually, health, stream

FREED_S = 2
POOL_SIZE = 3
MANY = httpx2.Limits(max_connections=1000, max_keepalive_connections=0)


async def test_clients_that_close_their_connections_free_their_places_at_once(database):
    with running_hub(database) as hub:
        async with hub.client() as http:
            session_id = await Rest(http, "p").create()
            async with hub.client(limits=MANY) as leaving, anyio.create_task_group() as tasks:
                for _ in range(200):
                    tasks.start_soon(wait_for_more, leaving, session_id)
                for _ in range(50):
                    tasks.start_soon(follow, leaving, session_id)
                await becomes(http, waiting=250, within_s=30)
                tasks.cancel_scope.cancel()
            await becomes(http, waiting=0, within_s=FREED_S)

            await eventually(partial(lines_of_the_gone, hub), lambda gone: len(gone) == 200)
            assert hub.process.poll() is None


async def test_a_client_that_leaves_in_the_middle_of_a_body_or_a_read_harms_nobody(database):
    with running_hub(database, pool_size_max=2) as hub:
        async with hub.client() as http:
            caller = Rest(http, "p")
            session_id = await caller.create()
            await caller.append_all(session_id, [{"role": "user", "content": "x" * 20_000} for _ in range(100)])
            for _ in range(30):
                await leave_in_the_middle(hub.url, hub.token, session_id)
            assert len(await caller.read(session_id)) == 100
            await caller.append(session_id, "still here")
            await becomes(http, waiting=0, within_s=FREED_S)


@pytest.mark.parametrize("waiting", ["?wait=60", "/events"])
async def test_a_client_that_leaves_behind_requests_sent_ahead_frees_its_place_at_once(database, waiting):
    with running_hub(database) as hub:
        async with hub.client() as http:
            session_id = await Rest(http, "p").create()
            host, _, port = hub.url.removeprefix("http://").partition(":")
            head = f"HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {hub.token}\r\n\r\n"
            connection = await anyio.connect_tcp(host, int(port))
            await connection.send(f"GET /v1/sessions/{session_id}{waiting} {head}".encode())
            await becomes(http, waiting=1)
            await connection.send(f"GET /healthz {head}GET /healthz {head}".encode())
            await connection.aclose()
            await becomes(http, waiting=0, within_s=FREED_S)


async def test_an_export_is_logged_as_answered_where_its_client_stayed_and_as_left_where_it_left(database):
    with running_hub(database) as hub:
        async with hub.client() as http:
            caller = Rest(http, "p")
            path = f"/v1/sessions/{await caller.create()}"
            for _ in range(8):  # more than the sockets hold
                await http.post(f"{path}/messages", json={"role": "user", "content": "x" * 2_000_000})
            for method in ("GET", "HEAD"):
                assert (await http.request(method, f"{path}/export?to=messages")).status_code == 200
            async with http.stream("GET", f"{path}/export?to=messages") as response:
                assert response.status_code == 200

            await eventually(partial(statuses_of, hub, "/export"), lambda statuses: statuses == [200, 200, 499])


async def test_a_connection_that_was_idle_for_longer_than_a_client_keeps_it_takes_the_next_request(database):
    with running_hub(database) as hub:
        limits = httpx2.Limits(max_connections=1, keepalive_expiry=60)
        async with hub.client(limits=limits) as http:
            before = (await http.get("/healthz")).extensions["network_stream"].get_extra_info("client_addr")
            await anyio.sleep(7)
            after = (await http.get("/healthz")).extensions["network_stream"].get_extra_info("client_addr")
    assert after == before


async def test_500_who_wait_hold_no_connection_and_appends_and_reads_go_on(database):
    with running_hub(database, pool_size_max=POOL_SIZE) as hub:
        async with hub.client() as http, hub.client(limits=MANY) as waiting, anyio.create_task_group() as tasks:
            caller = Rest(http, "p")
            quiet, busy = await caller.create(), await caller.create()
            for _ in range(500):
                tasks.start_soon(wait_for_more, waiting, quiet)
            await becomes(http, waiting=500, within_s=60)

            took = []
            for number in range(50):
                began = time.monotonic()
                seq = (await caller.append(busy, str(number)))["seq"]
                assert (await caller.page(busy, seq - 1))["messages"][0]["content"] == str(number)
                took.append(time.monotonic() - began)
            assert sorted(took)[25] < 0.2
            assert max(took) < 2
            with psycopg.connect(database) as admin:
                held = admin.execute(
                    "select count(*) from pg_stat_activity where application_name = 'tasuki' and datname = current_database()"
                ).fetchone()
            assert held is not None
            assert held[0] <= POOL_SIZE + 2, "the pool, one that listens, and one that holds the archive's lock"
            assert (await health(http))["waiting"] == 500
            tasks.cancel_scope.cancel()


async def test_one_append_wakes_500_without_a_read_for_each_and_each_gets_what_is_above_its_own_cursor(make_cluster):
    cluster = make_cluster(fsync=False, shared_preload_libraries="pg_stat_statements")
    dsn = cluster.start()
    with running_hub(dsn) as hub, psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("create extension pg_stat_statements")
        async with hub.client() as http, hub.client(limits=MANY) as waiting:
            caller = Rest(http, "p")
            session_id = await caller.create()
            heads = [(await caller.append(session_id, str(number)))["seq"] for number in range(20)]
            pages: dict[int, dict[str, Any]] = {}
            # Cursors at the head, and as far beyond it as the events of another session reach.
            other = await caller.create()
            beyond = [(await caller.append(other, "elsewhere"))["seq"] for _ in range(9)]
            cursors = [heads[-1], *beyond]

            async def wait(number: int) -> None:
                query = {"after_seq": cursors[number % len(cursors)], "wait": 60}
                pages[number] = (await waiting.get(f"/v1/sessions/{session_id}", params=query)).json()

            async with anyio.create_task_group() as tasks:
                for number in range(500):
                    tasks.start_soon(wait, number)
                await becomes(http, waiting=500, within_s=60)
                await reads_end(admin)  # those that the waiters began with
                admin.execute("select pg_stat_statements_reset()")
                seq = (await caller.append(session_id, "wake up"))["seq"]
                await eventually(lambda: health(http), lambda seen: seen["waiting"] == 0, within_s=10)
            assert len(pages) == 500
            assert {tuple(message["seq"] for message in page["messages"]) for page in pages.values()} == {(seq,)}
            calls = reads_of_pages(admin)
            assert calls <= 2, f"{calls} reads for one wake-up of 500"


async def reads_end(admin: psycopg.Connection) -> None:
    """Wait until no page has been read for half a second."""
    before = -1
    while before != (before := reads_of_pages(admin)):  # noqa: ASYNC110  # the database has no event for it
        await anyio.sleep(0.5)


def reads_of_pages(admin: psycopg.Connection) -> int:
    """How often a page was read since the counts were reset, by whichever function reads pages."""
    row = admin.execute("select coalesce(sum(calls), 0) from pg_stat_statements where query ~ 'store[.]read_page'").fetchone()
    assert row is not None
    return int(row[0])


async def lines_of_the_gone(hub: HubProcess) -> list[dict[str, Any]]:
    """A long poll says in the log that nobody was there to be answered."""
    return [line for line in hub.log_lines() if line.get("status") == 499]


async def statuses_of(hub: HubProcess, route_end: str) -> list[int]:
    """The statuses in the log of requests to a route, in order."""
    return [line["status"] for line in hub.log_lines() if str(line.get("route")).endswith(route_end)]


async def wait_for_more(http: httpx2.AsyncClient, session_id: str) -> None:
    head = (await http.get(f"/v1/sessions/{session_id}", params={"limit": 1})).json()["head_seq"]
    await http.get(f"/v1/sessions/{session_id}", params={"after_seq": head, "wait": 60})


async def follow(http: httpx2.AsyncClient, session_id: str) -> None:
    async with stream(http, session_id) as events:
        async for _ in events:
            pass


async def leave_in_the_middle(url: str, token: str, session_id: str) -> None:
    """Send a body's beginning and go; ask for pages and go without reading them."""
    host, _, port = url.removeprefix("http://").partition(":")
    head = f"Host: {host}\r\nAuthorization: Bearer {token}\r\n"
    half = f"POST /v1/sessions/{session_id}/messages HTTP/1.1\r\n{head}Content-Length: 5000\r\n\r\n{{"
    page = f"GET /v1/sessions/{session_id}?limit=1000 HTTP/1.1\r\n{head}\r\n"
    waiting = f"GET /v1/sessions/{session_id}?wait=60 HTTP/1.1\r\n{head}\r\n"
    for request in (half, page, waiting):
        connection = await anyio.connect_tcp(host, int(port))
        await connection.send(request.encode())
        await connection.aclose()
