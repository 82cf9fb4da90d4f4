"""A hub that is stopped, killed or away under live MCP clients: the next call works, nothing twice, and someone was told."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from hubs import HubProcess
from mcp.client.subscriptions import ResourceUpdated
from mcpclient import MODERN, WAYS, Mcp, over, over_http, over_stdio, text_of
from restclient import Refused, Rest
from tails import becomes


class Hub:
    """A hub that comes back at the same address."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self._dsn, self._folder = dsn, folder
        self.running = HubProcess(dsn, folder).start()
        self._port = int(self.running.url.rpartition(":")[2])

    def start(self) -> None:
        self.running = HubProcess(self._dsn, self._folder, self._port).start()

    def stop(self) -> None:
        assert self.running.stop() == 0

    def kill(self) -> None:
        self.running.kill()

    @asynccontextmanager
    async def rest(self) -> AsyncIterator[Rest]:
        async with self.running.client() as http:
            yield Rest(http, "p")


@pytest.fixture
def hub(database: str, tmp_path: Path) -> Iterator[Hub]:
    hub = Hub(database, tmp_path)
    yield hub
    hub.kill()


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_after_a_restart_every_client_goes_on_with_its_next_call(hub: Hub, end: str):
    async with hub.rest() as rest:
        session = await rest.create()
        async with (
            over(WAYS[0], hub.running) as a,
            over(WAYS[1], hub.running) as b,
            over(WAYS[2], hub.running) as c,
            over(WAYS[3], hub.running) as d,
        ):
            clients = [Mcp(client, rest) for client in (a, b, c, d)]
            seen: list[list[str]] = [[] for _ in clients]
            after = [0] * len(clients)
            for number, mcp in enumerate(clients):
                await mcp.append(session, f"before {number}", append_id=f"k{number}")
            for round_ in range(2):
                for number, mcp in enumerate(clients):
                    page = await mcp.page(session, after[number])
                    seen[number] += [message["content"] for message in page["messages"]]
                    after[number] = page["next_after_seq"]
                if round_ == 0:
                    getattr(hub, end)()
                    hub.start()
                    for number, mcp in enumerate(clients):
                        again = await mcp.append(session, f"before {number}", append_id=f"k{number}")
                        assert again["duplicate"], "a retry of what was written is told so"
                        await mcp.append(session, f"after {number}", append_id=f"l{number}")
        assert seen == [[f"{when} {number}" for when in ("before", "after") for number in range(4)]] * 4


async def test_a_wait_over_stdio_goes_on_through_a_restart_of_the_hub(hub: Hub):
    async with hub.rest() as rest, over_stdio(hub.running, MODERN) as client:
        session = await rest.create()
        pages = []

        async def wait() -> None:
            pages.append(await Mcp(client, rest).page(session, wait=50))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await becomes(rest.http, waiting=1)
            hub.kill()
            hub.start()
            await becomes(rest.http, waiting=1, within_s=20)
            await rest.append(session, "woke")
        assert [message["content"] for message in pages[0]["messages"]] == ["woke"]


async def test_a_hub_that_stops_answers_who_waits_and_closes_who_listens(hub: Hub):
    async with hub.rest() as rest:
        session = await rest.create()
        pages, heard = [], []

        async def wait(skin: str) -> None:
            async with over(skin, hub.running) as client:
                pages.append(await Mcp(client, rest).page(session, wait=50))

        async def listen() -> None:
            async with (
                over_http(hub.running, MODERN) as client,
                client.listen(resource_subscriptions=[f"session://{session}"]) as listening,
            ):
                heard.extend([event async for event in listening])  # ends without SubscriptionLost

        async with anyio.create_task_group() as tasks:
            for skin in WAYS[:2]:
                tasks.start_soon(wait, skin)
            tasks.start_soon(listen)
            await becomes(rest.http, waiting=3, within_s=20)
            with anyio.fail_after(8):
                await anyio.to_thread.run_sync(hub.stop)
        assert ([page["messages"] for page in pages], heard) == ([[], []], [])


async def test_tasuki_mcp_stays_up_while_the_hub_is_away_and_says_what_to_do(hub: Hub):
    async with hub.rest() as rest, over_stdio(hub.running, MODERN) as client:
        mcp = Mcp(client, rest)
        session = await rest.create()
        hub.stop()
        with pytest.raises(Refused, match="tasuki serve") as refused:
            await mcp.append(session, "hi", append_id="k1")
        assert (refused.value.code, hub.running.url in refused.value.detail) == ("hub_unreachable", True)
        assert len((await client.list_tools()).tools) == 8
        hub.start()
        assert not (await mcp.append(session, "hi", append_id="k1"))["duplicate"]
        assert await mcp.texts(session) == ["hi"]


async def test_tasuki_mcp_starts_without_a_hub_and_with_a_wrong_token(hub: Hub):
    for environment, code, advice in (
        ({"TASUKI_URL": "http://127.0.0.1:9"}, "hub_unreachable", "TASUKI_URL"),
        ({"TASUKI_TOKEN": "wrong"}, "unauthorized", "TASUKI_TOKEN"),
    ):
        async with over_stdio(hub.running, MODERN, **environment) as client:
            answer = await client.call_tool("list_sessions", {"project_id": "p"})
            assert answer.is_error
            said = text_of(answer)
            assert (said.partition(":")[0], advice in said) == (code, True)
            assert "wrong" not in said


async def test_a_listener_over_stdio_hears_of_what_comes_after_a_restart(hub: Hub):
    async with hub.rest() as rest, over_stdio(hub.running, MODERN) as client:
        session = await rest.create()
        uri = f"session://{session}"
        async with client.listen(resource_subscriptions=[uri]) as listening:
            await becomes(rest.http, waiting=1)
            hub.kill()
            hub.start()
            await rest.append(session, "news")
            with anyio.fail_after(30):
                assert await anext(listening) == ResourceUpdated(uri=uri)
