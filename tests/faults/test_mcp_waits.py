"""Waiting reads over MCP: woken as soon as over REST, gone when their client is, and a place in a list meanwhile."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import anyio
import psycopg
import pytest
from hubs import HubProcess, running_hub
from mcpclient import ERAS, HANDSHAKE, MODERN, WAYS, Mcp, over, over_http, stdio_of
from restclient import Rest
from tails import becomes

GONE_S = 2
POOL_SIZE = 3
META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
MODERN_HEADERS = {"Mcp-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "read_session"}
# A client waits, and is killed. Nothing of it is left to say goodbye.
CLIENT = """
import sys, anyio, httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
url, token, era, session = sys.argv[1:]
async def main():
    async with httpx2.AsyncClient(headers={"Authorization": "Bearer " + token}, timeout=60, trust_env=False) as http:
        async with Client(streamable_http_client(url + "/mcp", http_client=http), mode=era) as client:
            await client.call_tool("read_session", {"session_id": session, "wait_seconds": 50})
anyio.run(main)
"""


@pytest.fixture(scope="module")
def hub(module_database: str) -> Iterator[HubProcess]:
    with running_hub(module_database, pool_size_max=POOL_SIZE) as hub:
        yield hub


@pytest.fixture
async def rest(hub: HubProcess):
    async with hub.client() as http:
        yield Rest(http, "p")


@pytest.mark.parametrize("skin", WAYS)
async def test_an_append_by_another_process_wakes_it_within_50_ms_of_the_rest_tail(hub: HubProcess, rest: Rest, skin: str):
    session, seq = await rest.create(), 0
    later: list[float] = []
    async with over(skin, hub) as client, hub.client() as tail:
        readers: list[Rest | Mcp] = [Rest(tail, "p"), Mcp(client, rest)]
        for _ in range(45):
            woken: list[float] = [0.0, 0.0]

            async def wait(place: int, after_seq: int, woken: list[float]) -> None:
                page = await readers[place].page(session, after_seq, wait=30)
                woken[place] = time.monotonic()
                assert len(page["messages"]) == 1

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait, 0, seq, woken)
                tasks.start_soon(wait, 1, seq, woken)
                await becomes(rest.http, waiting=2)
                seq = (await rest.append(session, "woke"))["seq"]
            later.append(woken[1] - woken[0])
    thirds = [median(later[start : start + 15]) for start in (0, 15, 30)]
    assert min(thirds) < 0.05, f"a busy machine may spoil a third of them, not all: {thirds}"


@pytest.mark.parametrize("skin", [skin for skin in WAYS if skin != f"http {HANDSHAKE}"])
async def test_it_ends_when_its_client_cancels(hub: HubProcess, rest: Rest, skin: str):
    session = await rest.create()
    async with over(skin, hub) as client:
        mcp = Mcp(client, rest)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(mcp.page, session, 0, 50)
            await becomes(rest.http, waiting=1)
            tasks.cancel_scope.cancel()
        await becomes(rest.http, waiting=0, within_s=GONE_S)
        await mcp.append(session, "the connection is as good as before")
        assert await mcp.texts(session) == ["the connection is as good as before"]


@pytest.mark.parametrize("era", ERAS)
async def test_it_ends_when_its_client_over_http_is_killed(hub: HubProcess, rest: Rest, era: str):
    session = await rest.create()
    with started([sys.executable, "-c", CLIENT, hub.url, hub.token, era, session]) as client:
        await becomes(rest.http, waiting=1, within_s=30)
        client.kill()
        await becomes(rest.http, waiting=0, within_s=GONE_S)


@pytest.mark.parametrize("way", ["stdin is closed", "tasuki mcp is killed"])
async def test_it_ends_when_the_agent_that_started_tasuki_mcp_is_gone(hub: HubProcess, rest: Rest, way: str):
    session = await rest.create()
    agents = stdio_of(hub)
    with started([agents.command, *agents.args], agents.env) as process:
        assert process.stdin
        process.stdin.write(json.dumps(waiting_call(session)).encode() + b"\n")
        process.stdin.flush()
        await becomes(rest.http, waiting=1, within_s=30)
        if way == "stdin is closed":
            process.stdin.close()
            assert await anyio.to_thread.run_sync(process.wait, 10) == 0
        else:
            process.kill()
        await becomes(rest.http, waiting=0, within_s=GONE_S)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(MODERN_HEADERS | {"Accept": "application/json, text/event-stream"}, id="2026-07-28"),
        pytest.param(MODERN_HEADERS | {"Accept": "application/json"}, id="2026-07-28 as JSON"),
        pytest.param({"Mcp-Protocol-Version": "2025-06-18", "Accept": "application/json, text/event-stream"}, id="handshake"),
        pytest.param({"Accept": "*/*", "Content-Type": "application/x-www-form-urlencoded"}, id="by hand"),
    ],
)
async def test_it_ends_when_its_connection_does_however_it_was_asked(hub: HubProcess, rest: Rest, headers: dict[str, str]):
    session = await rest.create()
    host, port = hub.url.removeprefix("http://").split(":")
    content = json.dumps(waiting_call(session, with_meta="Mcp-Method" in headers)).encode()
    lines = {"Host": host, "Authorization": f"Bearer {hub.token}", "Content-Length": len(content), **headers}
    head = "POST /mcp HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    async with await anyio.connect_tcp(host, int(port)) as connection:
        await connection.send(head.encode() + b"\r\n" + content)
        await becomes(rest.http, waiting=1)
    await becomes(rest.http, waiting=0, within_s=GONE_S)


async def test_200_wait_at_once_hold_no_connection_and_are_all_woken(hub: HubProcess, rest: Rest, module_database: str):
    quiet, busy = await rest.create(), await rest.create()
    pages: list[dict[str, Any]] = []

    async def wait(mcp: Mcp) -> None:
        pages.append(await mcp.page(quiet, wait=50))

    async with over_http(hub, MODERN) as modern, over_http(hub, HANDSHAKE) as older, anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(wait, Mcp((modern, older)[number % 2], rest))
        await becomes(rest.http, waiting=200, within_s=60)
        assert await connections(module_database) < 10, "the pool, one that listens, one that looks after the log"
        for number in range(20):
            await rest.append(busy, str(number))
        assert await rest.texts(busy) == [str(number) for number in range(20)]
        await rest.append(quiet, "to all")
    assert [page["messages"][0]["content"] for page in pages] == ["to all"] * 200
    await becomes(rest.http, waiting=0)


async def test_it_reports_progress_to_who_asked_for_it(hub: HubProcess, rest: Rest):
    session = await rest.create()
    reported: dict[str, list[tuple[float, str | None]]] = {skin: [] for skin in WAYS}

    async def wait(skin: str, heard: anyio.Event) -> None:
        async def progress(progress: float, total: float | None, message: str | None) -> None:
            reported[skin].append((progress, message))
            heard.set()

        async with over(skin, hub) as client:
            arguments = {"session_id": session, "wait_seconds": 50}
            answer = await client.call_tool("read_session", arguments, progress_callback=progress)
            assert (answer.structured_content or {})["messages"]

    async with anyio.create_task_group() as tasks:
        heard = [anyio.Event() for _ in WAYS]
        for skin, one in zip(WAYS, heard, strict=True):
            tasks.start_soon(wait, skin, one)
        with anyio.fail_after(60):
            for one in heard:
                await one.wait()
        await rest.append(session, "done")
    assert all(said[0] == (5.0, "waiting") for said in reported.values()), reported


async def connections(dsn: str) -> int:
    """How many the hub holds to its database."""
    async with await psycopg.AsyncConnection.connect(dsn) as admin:
        held = await admin.execute(
            "select count(*) from pg_stat_activity where application_name = 'tasuki' and datname = current_database()"
        )
        (number,) = await held.fetchone() or (0,)
        return int(number)


@contextmanager
def started(command: list[str], env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is gone when the context is closed."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet) as process:
        try:
            yield process
        finally:
            process.kill()


def waiting_call(session: str, with_meta: bool = True) -> dict[str, Any]:
    arguments = {"session_id": session, "wait_seconds": 50}
    params = {"name": "read_session", "arguments": arguments} | ({"_meta": META} if with_meta else {})
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
