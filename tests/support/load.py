"""Load: writers that try each append until it is acknowledged, and the ledger of what they were told."""

import json
import math
import random
import time
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2

AGAIN_S = (0.01, 0.1)
BUSY = (429, 503)


class Refused(Exception):
    """An answer that trying again does not change."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"{response.status_code} {response.text[:300]}")
        self.status = response.status_code
        is_problem = response.headers["content-type"] == "application/problem+json"
        self.problem: dict[str, Any] = response.json() if is_problem else {"code": response.text}


@dataclass
class Ledger:
    """What writers were told: where each append stands. `failures`: what they met on the way; `waited_s`: the longest answer."""

    seqs: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    waited_s: float = 0.0

    def note(self, answer: dict[str, Any]) -> None:
        for result in answer.get("results", [answer]):
            known = self.seqs.setdefault(result["append_id"], result["seq"])
            assert known == result["seq"], f"{result['append_id']} was told to be at {known}, then at {result['seq']}"


async def answered(
    https: list[httpx2.AsyncClient], method: str, path: str, body: Any, failures: list[str], within_s: float = 60
) -> dict[str, Any]:
    """Ask one hub after another until one answers, and return that. Raises Refused; TimeoutError after `within_s`."""
    content = None if body is None else json.dumps(body)
    with anyio.fail_after(within_s):
        while True:
            try:
                response = await random.choice(https).request(method, path, content=content)
            except httpx2.TransportError as error:
                failures.append(type(error).__name__)
            else:
                if response.status_code < 300:
                    return dict(response.json())
                if response.status_code not in BUSY:
                    raise Refused(response)
                failures.append(response.json()["code"])
            await anyio.sleep(random.uniform(*AGAIN_S))  # a client's pause before it tries again


async def create_sessions(https: list[httpx2.AsyncClient], count: int) -> list[str]:
    answers = [await answered(https, "POST", "/v1/sessions", {"project_id": "load"}, []) for _ in range(count)]
    return [answer["session_id"] for answer in answers]


@dataclass
class Writer:
    """Appends to any of the sessions through any of the hubs, by ones and by batches of up to `batch_max`; `others`: the share
    of appends that are no messages; `padding` makes each message that much longer."""

    name: str
    https: list[httpx2.AsyncClient]
    session_ids: list[str]
    ledger: Ledger
    batch_max: int = 8
    others: float = 0.0
    padding: str = ""
    within_s: float = 60
    written: int = 0
    is_to_end: bool = False

    async def run(self, count: float = math.inf) -> None:
        """Append `count` messages, or until it `is_to_end`. Cancelled, it could leave an append behind that comes late."""
        while self.written < count and not self.is_to_end:
            size = random.choice((1, random.randint(1, self.batch_max)))
            await self.append(int(min(size, count - self.written)))
            if random.random() < self.others:
                await self.append_another()

    async def append(self, size: int) -> None:
        messages = [message(f"{self.name}-{self.written + n}", self.padding) for n in range(size)]
        body = messages[0] if size == 1 else {"messages": messages}
        began = time.monotonic()
        self.ledger.note(await self._post(f"/v1/sessions/{random.choice(self.session_ids)}/messages", body))
        self.ledger.waited_s = max(self.ledger.waited_s, time.monotonic() - began)
        self.written += size

    async def append_another(self) -> None:
        session_id = random.choice(self.session_ids)
        path, body = random.choice(
            (
                (f"/v1/sessions/{session_id}/native", {"agent": "test", "version": "1", "records": [self.name]}),
                ("/v1/snapshots", {"session_id": session_id, "commit_msg": self.name}),
            )
        )
        await self._post(path, body)

    async def _post(self, path: str, body: Any) -> dict[str, Any]:
        return await answered(self.https, "POST", path, body, self.ledger.failures, self.within_s)


def message(append_id: str, padding: str = "") -> dict[str, Any]:
    return {"role": "user", "content": f"this is {append_id}{padding}", "append_id": append_id}
