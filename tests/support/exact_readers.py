"""Readers that keep the bytes of every item as they came, whichever way they read."""

import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2

Mode = Literal["messages", "natives", "events", "log"]
Exact = list[tuple[int, bytes]]
"""Seq and bytes, in the order they came."""

MODES: tuple[Mode, ...] = ("messages", "natives", "events", "log")
_LIMITS = (1, 2, 7, 100, 1000)
_WAITS_S = (0, 0.1, 3, 3, 3)
_ALL_AT_ONCE: dict[str, Any] = {"limit": 1000}


@dataclass
class ExactReader:
    """Reads from `began_after` on until it is cancelled, at one hub, or at each of several in turn."""

    name: str
    https: list[httpx2.AsyncClient]
    session_id: str
    mode: Mode
    began_after: int
    dice: random.Random
    seen: Exact = field(default_factory=list)

    @property
    def after_seq(self) -> int:
        return self.seen[-1][0] if self.seen else self.began_after

    async def run(self) -> None:
        while True:
            for http in self.https:
                await (self._stream(http) if self.mode == "events" else self._page(http))

    async def _page(self, http: httpx2.AsyncClient) -> None:
        query = {"limit": self.dice.choice(_LIMITS), "wait": self.dice.choice(_WAITS_S)}
        self.seen += await page(http, self.session_id, self.mode, self.after_seq, query)

    async def _stream(self, http: httpx2.AsyncClient) -> None:
        """Follow a stream; now and then come again with the last id."""
        left = self.dice.randint(1, 60)
        async for item in stream(http, self.session_id, self.after_seq):
            self.seen.append(item)
            left -= 1
            if not left:
                return


async def page(http: httpx2.AsyncClient, session_id: str, mode: Mode, after_seq: int, query: dict[str, Any]) -> Exact:
    """One page of a session's messages, with natives or without, or of the log."""
    path, name = ("/v1/log", "events") if mode == "log" else (f"/v1/sessions/{session_id}", "messages")
    more = {"native": 1} if mode == "natives" else {}
    response = await http.get(path, params={"after_seq": after_seq, **query, **more})
    assert response.status_code == 200, response.text
    return items_of(response.content, name)


async def stream(http: httpx2.AsyncClient, session_id: str, after_seq: int) -> AsyncIterator[tuple[int, bytes]]:
    """A session's server-sent events, each with all its lines."""
    headers = {"Last-Event-ID": str(after_seq)}
    async with http.stream("GET", f"/v1/sessions/{session_id}/events", headers=headers) as response:
        assert response.status_code == 200
        received = b""
        async for piece in response.aiter_bytes():
            *events, received = (received + piece).split(b"\n\n")
            for event in events:
                if event.startswith(b"event: "):
                    yield int(event.split(b"\n", 2)[1].removeprefix(b"id: ")), event


async def from_the_start(http: httpx2.AsyncClient, session_id: str, mode: Mode, last_seq: int, after_seq: int = 0) -> Exact:
    """All that a reader gets who comes when everything is written. `last_seq`: of the session's last event."""
    seen: Exact = []
    if mode == "events":
        async for item in stream(http, session_id, after_seq):
            seen.append(item)
            if item[0] == last_seq:
                return seen
    while more := await page(http, session_id, mode, seen[-1][0] if seen else after_seq, _ALL_AT_ONCE):
        seen += more
    return seen


def items_of(body: bytes, name: str) -> Exact:
    """The items of a page's list as they are spelled there."""
    text, decoder = body.decode(), json.JSONDecoder()
    at = text.index(f'"{name}":[') + len(name) + 4
    items: Exact = []
    while text[at] != "]":
        item, end = decoder.raw_decode(text, at)
        items.append((item["seq"], text[at:end].encode()))
        at = end + (text[end] == ",")
    return items


def differences(name: str, seen: Exact, wanted: Exact) -> list[str]:
    """How what somebody saw differs from what he should have seen, byte by byte and in order."""
    if seen == wanted:
        return []
    for (seq, item), (wanted_seq, wanted_item) in zip(seen, wanted, strict=False):
        if (seq, item) != (wanted_seq, wanted_item):
            return [f"{name}: {seq} {item[:300]!r} instead of {wanted_seq} {wanted_item[:300]!r}"]
    return [f"{name}: {len(seen)} items instead of {len(wanted)}, up to {seen[-1:] and seen[-1][0]}"]
