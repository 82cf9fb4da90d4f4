"""Readers that wait for what comes, and how a test waits for what it wants to see: with a deadline, never for a while."""

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import anyio
import httpx2

T = TypeVar("T")
LOOK_AGAIN_S = 0.02


async def eventually(look: Callable[[], Awaitable[T]], holds: Callable[[T], object], within_s: float = 10) -> T:
    """Look until what is seen `holds`, and return it. Fails, showing what was seen last, after `within_s`."""
    deadline = time.monotonic() + within_s
    while True:
        seen = await look()
        if holds(seen):
            return seen
        assert time.monotonic() < deadline, f"not within {within_s} s; last seen: {seen!r}"
        await anyio.sleep(LOOK_AGAIN_S)


async def health(http: httpx2.AsyncClient) -> dict[str, Any]:
    """What /healthz says."""
    response = await http.get("/healthz")
    assert response.status_code == 200
    return dict(response.json())


async def becomes(http: httpx2.AsyncClient, within_s: float = 10, **facts: Any) -> dict[str, Any]:
    """Return what /healthz says as soon as it says `facts`."""
    return await eventually(lambda: health(http), lambda seen: {**seen, **facts} == seen, within_s)


class Tail:
    """A long-polling reader of one session, from `after_seq` on. `seen`: seq and content of each message, in order."""

    def __init__(self, http: httpx2.AsyncClient, session_id: str, after_seq: int = 0, wait_s: float = 20) -> None:
        self._http, self.session_id, self._wait_s = http, session_id, wait_s
        self._more = anyio.Event()
        self.after_seq = after_seq
        self.seen: list[tuple[int, Any]] = []
        self.arrived: dict[int, float] = {}
        self.refusals: list[str] = []

    async def run(self) -> None:
        """Read until cancelled; a hub that says "try again" or is not there is asked again."""
        while True:
            query: dict[str, Any] = {"after_seq": self.after_seq, "wait": self._wait_s}
            try:
                response = await self._http.get(f"/v1/sessions/{self.session_id}", params=query)
            except httpx2.TransportError as error:
                self.refusals.append(type(error).__name__)
                await anyio.sleep(LOOK_AGAIN_S)
                continue
            page = response.json()
            if response.status_code != 200:
                assert page["retryable"], page
                self.refusals.append(page["code"])
                await anyio.sleep(LOOK_AGAIN_S)
                continue
            for message in page["messages"]:
                self.seen.append((message["seq"], message["content"]))
                self.arrived[message["seq"]] = time.monotonic()
            self.after_seq = page["next_after_seq"]
            if page["messages"]:
                self._more.set()
                self._more = anyio.Event()

    async def reaches(self, seq: int, within_s: float = 10) -> None:
        """Return when `seq` was read."""
        with anyio.move_on_after(within_s):
            while self.after_seq < seq:
                await self._more.wait()
        assert self.after_seq >= seq, f"{seq} was not read within {within_s} s, only up to {self.after_seq}"


@contextlib.asynccontextmanager
async def stream(http: httpx2.AsyncClient, session_id: str, **options: Any) -> AsyncIterator[AsyncIterator[dict[str, str]]]:
    """Open a session's event stream and give its events as they come: {"event", "id", "data"}."""
    async with http.stream("GET", f"/v1/sessions/{session_id}/events", **options) as response:
        assert response.status_code == 200, await response.aread()
        yield _events(response)


async def _events(response: httpx2.Response) -> AsyncIterator[dict[str, str]]:
    event: dict[str, str] = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if line and name in ("event", "id", "data"):
            event[name] = value
        elif not line and "data" in event:
            yield event
            event = {}
