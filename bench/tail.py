"""Tail: from the start of an append to the event in a reader's hands, one event at a time, the ways shuffled.

The least it can take is one durable insert with a NOTIFY that carries the event.
"""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio

from bench import http, limits
from bench.messages import message, new_append_id
from bench.report import Row, Sample, Target, percentile
from bench.rounds import Plan
from bench.stage import Hub, Stage

EVENTS = 60  # a way and round
ALLOWED_S = 25.0
SLOW_SYNC_US = 1150  # more a commit: with what this takes by itself about the 1.25 ms of a usual disk
PAUSE_S = 0.004  # between events: what the one before it left to do is done
Key = TypeVar("Key", bound=Hashable)
Way = Callable[[], Awaitable[float]]
"""Sends one event and returns the seconds until it had arrived."""


async def measure(stage: Stage, plan: Plan) -> list[Row]:
    """Return how soon an event arrives by long-poll and by SSE, at the server that took it and at another one."""
    dsn = stage.database("tail")
    hub, other = stage.hub(dsn), stage.hub(dsn)
    async with limits.connections(dsn, 2) as plain, notices(plain) as notice:
        ways: dict[str, Way] = {
            "notice": notice.bare_s,
            "durable": notice.durable_s,
            "poll": (await Reader.open(hub, hub)).by_poll_s,
            "sse": (await Reader.following(hub, hub)).by_stream_s,
            "poll elsewhere": (await Reader.open(hub, other)).by_poll_s,
            "sse elsewhere": (await Reader.following(hub, other)).by_stream_s,
        }
        got = await shuffled(plan, ways)
        with stage.syncing_slowly(SLOW_SYNC_US):
            slow = await shuffled_p50(plan, ways)
    other.stop()
    hub.stop()
    middle = {name: [Sample(percentile(times, 0.5)) for times in rounds] for name, rounds in got.items()}
    high = {name: [Sample(percentile(times, 0.95)) for times in rounds] for name, rounds in got.items()}
    least, target = "durable insert with NOTIFY", Target("at most", 2)
    slowly = f"{least}, slow disk"
    return [
        Row("tail", f"{least}, p50", "ms", middle["durable"], "bare NOTIFY", middle["notice"]),
        Row("tail", "POST to long-poll, p50", "ms", middle["poll"], least, middle["durable"], target),
        Row("tail", "POST to SSE, p50", "ms", middle["sse"], least, middle["durable"], target),
        Row("tail", "POST to long-poll at another server, p50", "ms", middle["poll elsewhere"], least, middle["durable"], target),
        Row("tail", "POST to SSE at another server, p50", "ms", middle["sse elsewhere"], least, middle["durable"], target),
        Row("tail", "POST to long-poll, p50, slow disk", "ms", slow["poll"], slowly, slow["durable"], target),
        Row("tail", "POST to SSE, p50, slow disk", "ms", slow["sse"], slowly, slow["durable"], target),
        Row("tail", "POST to SSE at another server, p50, slow disk", "ms", slow["sse elsewhere"], slowly, slow["durable"], target),
        Row("tail", "POST to long-poll, p95", "ms", high["poll"], f"{least}, p95", high["durable"]),
        Row("tail", "POST to SSE at another server, p95", "ms", high["sse elsewhere"], f"{least}, p95", high["durable"]),
    ]


async def shuffled_p50(plan: Plan, ways: Mapping[Key, Way]) -> dict[Key, list[Sample]]:
    """Return the median milliseconds of each way, a sample a round."""
    return {way: [Sample(percentile(times, 0.5)) for times in rounds] for way, rounds in (await shuffled(plan, ways)).items()}


async def shuffled(plan: Plan, ways: Mapping[Key, Way]) -> dict[Key, list[list[float]]]:
    """Return for each way, a list a round, the milliseconds that its events took. The first of each is thrown away."""
    draw = random.Random(1)
    rounds: dict[Key, list[list[float]]] = {name: [] for name in ways}
    for way in ways.values():
        await way()
    for _ in plan.turns(ALLOWED_S):
        order = list(ways) * plan.count(EVENTS)
        draw.shuffle(order)
        times: dict[Key, list[float]] = {name: [] for name in ways}
        for name in order:
            await anyio.sleep(PAUSE_S)
            times[name].append(1000 * await ways[name]())
        for name in ways:
            rounds[name].append(times[name])
    return rounds


@asynccontextmanager
async def notices(plain: list[limits.Connection]) -> AsyncIterator[limits.Notices]:
    """Two plain connections, the second one listening while the context is open."""
    notice = limits.Notices(plain[0], plain[1])
    await notice.listen()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(notice.receive)
        yield notice
        tasks.cancel_scope.cancel()


class Reader:
    """A session, who writes to it at one server, and who reads it at the same or another one, by polls or by a stream."""

    def __init__(self, hub: Hub, at: Hub, writer: http.Connection, reader: http.Connection, session: tuple[str, int]) -> None:
        self._hub, self._at, self._writer, self._reader = hub, at, writer, reader
        self._path, self._seq = f"/v1/sessions/{session[0]}", session[1]
        self._wanted, self._seen = b"", b""
        self._arrived: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, hub: Hub, at: Hub) -> "Reader":
        """A reader of a new session."""
        (writer,), (reader,) = await http.connect(hub), await http.connect(at)
        return cls(hub, at, writer, reader, await http.new_session(hub, writer))

    @classmethod
    async def following(cls, hub: Hub, at: Hub) -> "Reader":
        """A reader of a new session, which has begun to follow it as a stream."""
        reader = await cls.open(hub, at)
        reader._wanted = b"session.created"
        reader._reader.follow(http.get(at, f"{reader._path}/events?after_seq=0"), reader._receive)
        await reader._arrived
        return reader

    async def by_poll_s(self) -> float:
        """Ask for what comes next, then append it: seconds until the answer."""
        append_id = new_append_id()
        await self._writer.ready()
        await self._reader.ready()
        answer = self._reader.request(http.get(self._at, f"{self._path}?after_seq={self._seq}&wait=30"))
        await anyio.sleep(PAUSE_S)  # it waits there now
        began = time.perf_counter()
        appended = self._append(append_id)
        body = await answer
        ended = time.perf_counter()
        assert append_id.encode() in body, body[:500]
        self._seq = json.loads(await appended)["seq"]
        return ended - began

    async def by_stream_s(self) -> float:
        """Append: seconds until it comes down the stream."""
        append_id = new_append_id()
        await self._writer.ready()
        self._wanted, self._seen = append_id.encode(), b""
        self._arrived = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        appended = self._append(append_id)
        ended = await self._arrived
        await appended
        return ended - began

    def _append(self, append_id: str) -> asyncio.Future[bytes]:
        return self._writer.request(http.post(self._hub, f"{self._path}/messages", message(append_id)))

    def _receive(self, data: bytes) -> None:
        self._seen += data
        if self._wanted in self._seen and not self._arrived.done():
            self._arrived.set_result(time.perf_counter())
