"""Writes drawn by a seed: all that can be appended, spelled as oddly as JSON allows, through any of several hubs."""

import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

LARGE_CHARS = 70_000, 200_000  # over the 64 KiB from which an append goes its own way
_CONTENTS = (
    '"hi"', '""', r'"\u0000 \ud800 \/ \u00e9"', '"襷 é \U0001f3bd"', r'"a\nb\r\n\tc"', '[ {"type":"text", "text":"part"} ]',
    '[{"type":"image_url","image_url":{"url":"https://example.org/a.png","detail":"low"}}]',
)  # fmt: skip
_FIELDS = (
    '"big":12345678901234567890123', '"f" : 1.10', '"odd" :[ 1 ,{"a":[]},null ]', '"schema_version":1', '"e":1E+2',
    '"thinking":{"content":null,"encrypted":true,"items":[{"data":"x","signature":"s"}]}', '"seq":99999', '"neg":-0.0',
    '"metadata":{"usage":{"input_tokens":3},"agent_source":"codex"}', '"metadata": {"pinned":true}', '"nothing":null',
    '"created_at":"2026-03-01t10:00:00.123456+02:00"', '"native":{"agent":"hermes","version":"1","row":[1.0,"\\u00e9"]}',
)  # fmt: skip
_SPACES = ("", "", " ", "\n", "\r\n", "\t")


class Writes:
    """What was written so far, and the next write. `head` is the last seq that was acknowledged."""

    def __init__(self, seed: str, https: list[httpx2.AsyncClient]) -> None:
        self.dice, self._https = random.Random(seed), https
        self._name, self._count = seed, 0
        self.session_ids: list[str] = []
        self._snapshot_ids: list[str] = []
        self.head = 0

    async def begin(self, sessions: int) -> None:
        for _ in range(sessions):
            await self._create()

    async def write(self) -> None:
        """Append one thing."""
        kinds: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (50, self._append), (15, self._append_batch), (8, self._append_large), (8, self._record), (6, self._patch),
            (6, self._snapshot), (4, self._fork), (3, self._create),
        ]  # fmt: skip
        (write,) = self.dice.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
        await write()

    async def _append(self) -> None:
        await self._post(f"/v1/sessions/{self._session()}/messages", self._message())

    async def _append_batch(self) -> None:
        messages = ",".join(self._message() for _ in range(self.dice.randint(2, 8)))
        await self._post(f"/v1/sessions/{self._session()}/messages", f'{{"messages":[{messages}]}}')

    async def _append_large(self) -> None:
        content = json.dumps(self.dice.choice("x襷é") * self.dice.randint(*LARGE_CHARS), ensure_ascii=self.dice.random() < 0.5)
        await self._post(f"/v1/sessions/{self._session()}/messages", self._message(content))

    async def _record(self) -> None:
        body = f'{{"agent":"dsh", "version":"1","records":[{{"n":1.50}}],"append_id":{self._append_id()}}}'
        await self._post(f"/v1/sessions/{self._session()}/native", body)

    async def _patch(self) -> None:
        agent = self.dice.choice(["hermes", "dsh", "codex"])
        await self._post(f"/v1/sessions/{self._session()}", f'{{"agent_source":"{agent}", "n":1.0}}', method="PATCH")

    async def _snapshot(self) -> None:
        answer = await self._post("/v1/snapshots", f'{{"session_id":"{self._session()}","commit_msg":"m {self._count}"}}')
        self._snapshot_ids.append(answer["snapshot_id"])

    async def _fork(self) -> None:
        if self._snapshot_ids:
            answer = await self._post(f"/v1/snapshots/{self.dice.choice(self._snapshot_ids)}/fork", "{}")
            self.session_ids.append(answer["session_id"])

    async def _create(self) -> None:
        answer = await self._post("/v1/sessions", '{"project_id":"drawn","meta":{"title":"\\u00e9"}}')
        self.session_ids.append(answer["session_id"])

    def _session(self) -> str:
        return self.dice.choice(self.session_ids)

    def _append_id(self) -> str:
        self._count += 1
        return f'"{self._name} {self._count}"'

    def _message(self, content: str | None = None) -> str:
        """A message's text: its fields in any order, with white space anywhere."""
        dice = self.dice
        fields = {field.partition('"')[2].partition('"')[0]: field for field in dice.sample(_FIELDS, dice.randint(0, 4))}
        role = dice.choice(['"role":"user"', '"role" : "assistant"', '"role":"system"', '"role":"tool","tool_call_id":"call_1"'])
        mine = [role, f'"content":{content or dice.choice(_CONTENTS)}', f'"append_id": {self._append_id()}', *fields.values()]
        dice.shuffle(mine)
        return f"{{{dice.choice(_SPACES)}{f'{dice.choice(_SPACES)},{dice.choice(_SPACES)}'.join(mine)}{dice.choice(_SPACES)}}}"

    async def _post(self, path: str, body: str, method: str = "POST") -> dict[str, Any]:
        response = await self.dice.choice(self._https).request(method, path, content=body.encode())
        answer: dict[str, Any] = response.json()
        assert response.status_code in (200, 201), (response.status_code, answer, body[:500])
        self.head = max([self.head, *(result["seq"] for result in answer.get("results", [answer]))])
        return answer
