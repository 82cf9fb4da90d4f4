"""The database may go and come back: callers are told to try again, who waits goes on waiting, and nobody restarts the hub."""

import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
from hubs import HubProcess, running_hub
from proxy import proxied
from restclient import Rest
from tails import Tail, becomes, eventually, stream

from eventstore.embedded import EmbeddedPostgres

POLL_S = 0.5
STATEMENT_S = 2
REFUSED_S = 5 + STATEMENT_S + 3  # for a connection, for the statement, and some
SAID_S = 8  # a poll and its 5 s, and some
BACK_S = 10


@dataclass
class Scene:
    """A hub with a session, one reader of each kind at its end, and callers enough to have filled its pool."""

    hub: HubProcess
    http: httpx2.AsyncClient
    session_id: str
    tail: Tail
    streamed: list[str] = field(default_factory=list)

    async def goes_away(self) -> None:
        """See that it is said."""
        said = await becomes(self.http, within_s=SAID_S, database="down", live="polling", status="ok")
        assert said["waiting"] >= 2, "who waits goes on waiting"

    async def refuses_all(self) -> None:
        """Ask for everything, and be told to try again within the bound."""
        path = f"/v1/sessions/{self.session_id}"
        message = {"role": "user", "content": "lost?", "append_id": "while away"}
        async with anyio.create_task_group() as tasks:
            for method, at, body in (
                ("POST", f"{path}/messages", message),
                ("POST", "/v1/sessions", {"project_id": "p"}),
                ("GET", path, None),
                ("GET", f"{path}/events", None),
                ("GET", "/v1/log", None),
                ("GET", "/v1/sessions", None),
                ("GET", "/readyz", None),
            ):
                tasks.start_soon(refused, self.http, method, at, body)

    async def comes_back(self) -> None:
        """See that everything works again, by itself: first an append, which the readers see."""
        said = await self.append("after", "first")
        assert said.status_code == 201, "the first append, though every connection of the pool was dead"
        await self.tail.reaches(said.json()["seq"], within_s=BACK_S)
        await becomes(self.http, within_s=BACK_S, database="up", live="notify")
        assert (await self.http.get("/readyz")).status_code == 200
        retried = await self.append("lost?", "while away")
        assert retried.status_code == 201, "what was refused was not written"
        await self.tail.reaches(retried.json()["seq"], within_s=2)
        assert [content for _, content in self.tail.seen] == ["before", "after", "lost?"]
        await eventually(self._streamed, lambda events: len(events) == 4, within_s=5)
        assert self.streamed == ["1", "2", str(said.json()["seq"]), str(retried.json()["seq"])]
        assert self.hub.process.poll() is None

    async def _streamed(self) -> list[str]:
        return self.streamed

    async def append(self, content: str, append_id: str) -> httpx2.Response:
        body = {"role": "user", "content": content, "append_id": append_id}
        return await self.http.post(f"/v1/sessions/{self.session_id}/messages", json=body)


async def refused(http: httpx2.AsyncClient, method: str, path: str, body: Any) -> None:
    began = time.monotonic()
    answer = await http.request(method, path, json=body)
    assert time.monotonic() - began < REFUSED_S
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["x-request-id"] == answer.json()["request_id"]
    assert answer.headers["tasuki-log-id"].startswith("log_")
    assert (answer.json()["code"], answer.json()["retryable"]) == ("database_unavailable", True)


@asynccontextmanager
async def scene(dsn: str, program: str = "impatient") -> AsyncIterator[Scene]:
    with running_hub(dsn, program=program, poll_s=POLL_S, probe_s=1, statement_timeout_s=STATEMENT_S) as hub:
        async with hub.client() as http, anyio.create_task_group() as tasks:
            rest = Rest(http, "p")
            session_id = await rest.create()
            await rest.append(session_id, "before")
            made = Scene(hub, http, session_id, Tail(http, session_id, wait_s=60))
            tasks.start_soon(made.tail.run)
            tasks.start_soon(follow, made)
            async with anyio.create_task_group() as crowd:
                for _ in range(100):
                    crowd.start_soon(http.get, "/readyz")
            await made.tail.reaches(2)
            await becomes(http, waiting=2, live="notify")
            yield made
            tasks.cancel_scope.cancel()


async def follow(at: Scene) -> None:
    async with stream(at.http, at.session_id) as events:
        async for event in events:
            at.streamed.append(event["id"])


async def test_cut_off_from_its_database_the_hub_says_so_and_comes_back_by_itself(database):
    with proxied(database) as (proxy, dsn):
        async with scene(dsn) as at:
            proxy.cut()
            await at.goes_away()
            await at.refuses_all()
            proxy.resume()
            await at.comes_back()


async def test_a_database_that_was_killed_and_started_again_is_used_again(make_cluster):
    cluster = make_cluster(fsync=False)
    async with scene(cluster.start()) as at:
        kill(cluster)
        await at.goes_away()
        await at.refuses_all()
        await anyio.to_thread.run_sync(cluster.start)
        await at.comes_back()


async def test_a_link_that_swallows_everything_is_told_from_a_slow_answer(database):
    with proxied(database) as (proxy, dsn):
        async with scene(dsn, "cli.main") as at:
            proxy.block()
            await at.goes_away()
            await at.refuses_all()
            proxy.resume()
            await at.comes_back()


async def test_a_database_that_is_back_at_once_was_never_away_for_those_who_ask(make_cluster):
    cluster = make_cluster(fsync=False)
    async with scene(cluster.start()) as at:
        kill(cluster)
        await anyio.to_thread.run_sync(cluster.start)
        answers: list[httpx2.Response] = []

        async def append(number: int) -> None:
            answers.append(await at.append(str(number), str(number)))

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(append, number)
        assert [answer.status_code for answer in answers] == [201] * 20


async def test_who_waits_while_the_database_is_away_gets_an_empty_page_at_the_end(database):
    with proxied(database) as (proxy, dsn):
        async with scene(dsn) as at:
            answers: list[httpx2.Response] = []

            async def wait() -> None:
                answers.append(await at.http.get(f"/v1/sessions/{at.session_id}", params={"after_seq": 2, "wait": 3}))

            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(wait)
                await becomes(at.http, waiting=22)
                proxy.cut()
                await at.goes_away()
            assert [(answer.status_code, answer.json()["messages"]) for answer in answers] == [(200, [])] * 20


async def test_a_hub_that_starts_before_its_database_waits_for_it_and_serves(database):
    with proxied(database) as (proxy, dsn), tempfile.TemporaryDirectory(prefix="tasuki-hub-") as folder:
        proxy.cut()
        hub = HubProcess(dsn, Path(folder)).start(wait=False)
        try:
            await eventually(partial(said, hub, "waiting for the database"), bool, within_s=10)
            assert hub.process.poll() is None
            proxy.resume()
            await anyio.to_thread.run_sync(hub.ready)
            async with hub.client() as http:
                rest = Rest(http, "p")
                session_id = await rest.create()
                await rest.append(session_id, "there")
                assert await rest.texts(session_id) == ["there"]
        finally:
            hub.kill()


async def said(hub: HubProcess, event: str) -> bool:
    return any(line["event"] == event for line in hub.log_lines())


def kill(cluster: EmbeddedPostgres) -> None:
    """End the server as a crash would."""
    pid_file = cluster.data_dir / "postgres" / "cluster" / "postmaster.pid"
    os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
