"""Fan-out: many wait for one session; from the start of an append until all of them hold the event.

The least it can take is a bare protocol that writes prebuilt bytes to as many connections.
"""

import asyncio
import json
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from statistics import median

import anyio

from bench import http
from bench.messages import message, new_append_id
from bench.report import Row, Sample
from bench.rounds import Plan
from bench.stage import Floor, Hub, Server, Stage

COUNTS, COUNTS_QUICK = (1000, 5000), (1000,)
EVENTS = 3000  # waiters woken a round: few events where many wait
ALLOWED_S = 35.0  # for each number of waiters
SPARE_FILES = 500
ARMED_WAIT_S = 45.0  # below the 60 s that a long-poll waits
Event = Callable[[], Awaitable[float]]


async def measure(stage: Stage, plan: Plan) -> list[Row]:
    """Return how long it takes until everybody has it, for each number of waiters."""
    most = (_raise_file_limit() - SPARE_FILES) // 3
    rows: list[Row] = []
    for count in sorted({min(count, most) for count in (COUNTS_QUICK if plan.is_quick else COUNTS)}):
        rows += await _measure(stage, plan, count)
    return rows


async def _measure(stage: Stage, plan: Plan, count: int) -> list[Row]:
    hub, floor = stage.hub(stage.database(f"fanout_{count}")), stage.floor()
    async with crowd(hub, floor, count) as all_:
        events: dict[str, tuple[Event, Server]] = {
            "floor": (all_.by_floor_s, floor),
            "poll": (all_.by_poll_s, hub),
            "sse": (all_.by_stream_s, hub),
        }
        samples: dict[str, list[Sample]] = {name: [] for name in events}
        for event, _ in events.values():
            await event()
        for _ in plan.turns(ALLOWED_S):
            for name, (event, server) in events.items():
                samples[name].append(await _round(stage, event, server, count, plan))
    floor.stop()
    hub.stop()
    bare = f"bare protocol, {count} prebuilt answers"
    return [
        Row("fan-out", f"{count} in long-polls, all have it", "ms", samples["poll"], bare, samples["floor"]),
        Row("fan-out", f"{count} streams, all have it", "ms", samples["sse"], bare, samples["floor"]),
    ]


async def _round(stage: Stage, event: Event, server: Server, count: int, plan: Plan) -> Sample:
    """The median of a few events, fewer when many wait, with the CPU that each waiter cost, arming it included."""
    number = max(1, round(EVENTS * plan.scale) // count)
    meter = stage.meter(server)
    before = meter.read()
    times = [1000 * await event() for _ in range(number)]
    return Sample(median(times), *meter.since(before, number * count))


@asynccontextmanager
async def crowd(hub: Hub, floor: Floor, count: int) -> AsyncIterator["Crowd"]:
    """Waiters of every kind, connected while the context is open."""
    (writer,) = await http.connect(hub)
    (waker,) = await http.connect(floor)
    polls, streams, bare = [await http.connect(server, count) for server in (hub, hub, floor)]
    all_ = Crowd(hub, floor, writer, waker, polls, streams, bare)
    try:
        await all_.follow()
        yield all_
    finally:
        http.close([writer, waker, *polls, *streams, *bare])


class Crowd:
    """As many long-polls and streams of a session each, and held requests at the floor."""

    def __init__(
        self,
        hub: Hub,
        floor: Floor,
        writer: http.Connection,
        waker: http.Connection,
        polls: list[http.Connection],
        streams: list[http.Connection],
        bare: list[http.Connection],
    ) -> None:
        self._hub, self._floor, self._writer, self._waker = hub, floor, writer, waker
        self._polls, self._streams, self._bare = polls, streams, bare
        self._wanted, self._missing = b"", 0
        self._all_have_it: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    async def follow(self) -> None:
        """Create the sessions and let every stream begin, all at once."""
        self._polled, self._seq = await http.new_session(self._hub, self._writer)
        self._streamed, seq = await http.new_session(self._hub, self._writer)
        request = http.get(self._hub, f"/v1/sessions/{self._streamed}/events?after_seq={seq}")
        for stream in self._streams:
            stream.follow(request, self._receive)
        await self._until_waiting(self._hub, "/healthz", len(self._streams))

    async def by_poll_s(self) -> float:
        """Seconds until every long-poll is answered with one new event."""
        await self._until_waiting(self._hub, "/healthz", len(self._streams))
        request = http.get(self._hub, f"/v1/sessions/{self._polled}?after_seq={self._seq}&wait=60")
        for poll in self._polls:
            await poll.ready()
        answers = [self._polls[0].request(request)]  # it has the head looked up; the others need not
        await self._until_waiting(self._hub, "/healthz", len(self._streams) + 1)
        answers += [poll.request(request) for poll in self._polls[1:]]
        await self._until_waiting(self._hub, "/healthz", len(self._streams) + len(self._polls))
        append_id = new_append_id()
        began = time.perf_counter()
        appended = self._append(self._polled, append_id)
        bodies = await asyncio.gather(*answers)
        ended = time.perf_counter()
        assert all(append_id.encode() in body for body in bodies)
        self._seq = json.loads(await appended)["seq"]
        return ended - began

    async def by_stream_s(self) -> float:
        """Seconds until one new event came down every stream."""
        await self._until_waiting(self._hub, "/healthz", len(self._streams))
        append_id = new_append_id()
        self._wanted, self._missing = append_id.encode(), len(self._streams)
        self._all_have_it = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        appended = self._append(self._streamed, append_id)
        ended = await self._all_have_it
        await appended
        return ended - began

    async def by_floor_s(self) -> float:
        """Seconds until every held request is answered with prebuilt bytes."""
        answers = [connection.request(http.get(self._floor, "/wait")) for connection in self._bare]
        await self._until_waiting(self._floor, "/waiting", len(self._bare))
        began = time.perf_counter()
        woken = self._waker.request(http.post(self._floor, "/wake", message(new_append_id())))
        await asyncio.gather(*answers)
        ended = time.perf_counter()
        await woken
        return ended - began

    async def _until_waiting(self, server: Server, path: str, count: int) -> None:
        """Return when so many wait at a server. Raises OSError when they do not gather."""
        connection = self._writer if server is self._hub else self._waker
        waiting = -1
        ends = time.monotonic() + ARMED_WAIT_S
        while waiting != count:
            if time.monotonic() > ends:
                raise OSError(f"{waiting} wait at the server instead of {count}")
            with suppress(ConnectionError):  # one that was idle is closed at any moment
                waiting = json.loads(await connection.ask(http.get(server, path)))["waiting"]
            await anyio.sleep(0.01)

    def _append(self, session_id: str, append_id: str) -> asyncio.Future[bytes]:
        return self._writer.request(http.post(self._hub, f"/v1/sessions/{session_id}/messages", message(append_id)))

    def _receive(self, data: bytes) -> None:
        if self._wanted and self._wanted in data:
            self._missing -= 1
            if not self._missing:
                self._all_have_it.set_result(time.perf_counter())


def _raise_file_limit() -> int:
    """Let this process, and the servers that it starts, open as many files as it may; return how many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = 65_536 if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed
