"""Readers that follow a session or the whole log, page by page or as a stream, and keep what they see, in the order they see it."""

import itertools
import json
import random
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from load import BUSY

WAIT_S = 20
AGAIN_S = 0.05
HOP_EVENTS = 200

Seen = list[tuple[int, str]]
"""Seq, and the append_id of a message or the kind of anything else."""


@dataclass
class Reader:
    """Follows until it sees the append `last_id`. It asks one hub after another; given only one, it stays there."""

    name: str
    https: list[httpx2.AsyncClient]
    session_id: str | None
    last_id: str
    after_seq: int = 0
    seen: Seen = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return bool(self.seen) and self.seen[-1][1] == self.last_id

    async def run(self) -> None:
        for http in itertools.cycle(self.https):
            if self.is_done:
                return
            try:
                await self.look(http)
            except httpx2.TransportError as error:
                self.failures.append(type(error).__name__)
                await anyio.sleep(AGAIN_S)  # a client's pause before it tries again

    async def look(self, http: httpx2.AsyncClient) -> None:
        """Ask one hub for what comes next."""
        raise NotImplementedError

    def see(self, seq: int, kind: str, append_id: str) -> None:
        self.seen.append((seq, label(kind, append_id)))
        self.after_seq = seq

    async def refused(self, response: httpx2.Response) -> None:
        await response.aread()
        assert response.status_code in BUSY, response.text
        self.failures.append(response.json()["code"])
        await anyio.sleep(AGAIN_S)


class PageReader(Reader):
    """Long-polls a session's messages, or the log (`session_id` None)."""

    async def look(self, http: httpx2.AsyncClient) -> None:
        path, items = (f"/v1/sessions/{self.session_id}", "messages") if self.session_id else ("/v1/log", "events")
        query: dict[str, Any] = {"after_seq": self.after_seq, "wait": WAIT_S, "limit": random.choice((1, 7, 1000))}
        response = await http.get(path, params=query)
        if response.status_code != 200:
            return await self.refused(response)
        page = response.json()
        for item in page[items]:
            self.see(item["seq"], item.get("kind", "message.appended"), item["append_id"])
        assert page["next_after_seq"] == self.after_seq
        return None


class StreamReader(Reader):
    """Follows a session's events of every kind over SSE, and now and then comes again with the last id it has."""

    async def look(self, http: httpx2.AsyncClient) -> None:
        headers = {"Last-Event-ID": str(self.after_seq)}
        hop_at = len(self.seen) + random.randint(1, HOP_EVENTS)
        async with http.stream("GET", f"/v1/sessions/{self.session_id}/events", headers=headers) as response:
            if response.status_code != 200:
                return await self.refused(response)
            event: dict[str, str] = {}
            async for line in response.aiter_lines():
                name, _, value = line.partition(": ")
                event[name] = value
                if not line and "data" in event:
                    self.see(int(event["id"]), event["event"], json.loads(event["data"]).get("append_id", ""))
                    if self.is_done or len(self.seen) >= hop_at:
                        break
                if not line:
                    event = {}
        return None


def label(kind: str, append_id: str) -> str:
    return append_id if kind == "message.appended" else kind
