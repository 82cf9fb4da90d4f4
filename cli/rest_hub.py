"""A hub as the MCP tools ask one, over REST, from any host: many requests at once, each for as long as its caller waits.

1. An append without an id gets one before its first try, so that a try whose answer was lost can be repeated.
2. A hub that does not answer is asked again for a while; one that never did, only briefly. Then the caller is told.
3. A waiting read goes on through a restart of the hub: what is left of its wait is asked for again.
"""

import json
import random
import uuid
from typing import Any
from urllib.parse import quote

import anyio
import httpx2

from cli.address import Address, is_unheard, is_worth_repeating, retry_after_s
from cli.client import ANSWER_S, CONNECT_S, DELAY_S_FIRST, DELAY_S_MAX, UNKNOWN_PATIENCE_S, session_path
from eventstore.errors import StoreError

PATIENCE_S = 10.0  # a model waits for the answer


def open_http(address: Address) -> httpx2.AsyncClient:
    """Return the HTTP client for a hub. It opens as many connections as there are callers that wait."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    return httpx2.AsyncClient(**address.options(), limits=limits)


class RestHub:
    """A `transports.mcp.hub.Hub` over REST. `client`: what the agent calls itself, for messages that do not say."""

    def __init__(self, address: Address, http: httpx2.AsyncClient, client: str = "", heard: anyio.Event | None = None) -> None:
        self._address, self._http, self._client = address, http, client
        self._heard = heard or anyio.Event()  # set once something was there to take a request

    def named(self, client: str) -> "RestHub":
        """The same hub, asked for an agent of this name."""
        return RestHub(self._address, self._http, client, self._heard)

    async def create_session(self, body: dict[str, Any]) -> str:
        return await self._ask("POST", "/v1/sessions", _once(body))

    async def append(self, session_id: str, message: dict[str, Any], expected_seq: int | None) -> str:
        return await self._ask("POST", f"{session_path(session_id)}/messages", _once(message), expected_seq=expected_seq)

    async def read(self, session_id: str, after_seq: int, limit: int, wait_s: float) -> str:
        return await self._ask("GET", session_path(session_id), wait_s=wait_s, after_seq=after_seq, limit=limit)

    async def update_meta(self, session_id: str, meta: dict[str, Any], append_id: str | None) -> str:
        return await self._ask("PATCH", session_path(session_id), meta, append_id=append_id or _new_append_id())

    async def create_snapshot(self, body: dict[str, Any]) -> str:
        return await self._ask("POST", "/v1/snapshots", _once(body))

    async def fork(self, snapshot_id: str, body: dict[str, Any]) -> str:
        return await self._ask("POST", f"/v1/snapshots/{quote(snapshot_id, safe='')}/fork", _once(body))

    async def list_sessions(self, project_id: str | None, limit: int, cursor: str | None) -> str:
        return await self._ask("GET", "/v1/sessions", project_id=project_id, limit=limit, cursor=cursor)

    async def list_snapshots(self, session_id: str, limit: int, cursor: str | None) -> str:
        return await self._ask("GET", "/v1/snapshots", session_id=session_id, limit=limit, cursor=cursor)

    async def lineage(self, session_id: str) -> str:
        return await self._ask("GET", f"{session_path(session_id)}/lineage")

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None, wait_s: float = 0, **query: Any) -> str:
        """Return the text of the hub's answer. Raises what the hub raised, HubUnreachable, NotAHub."""
        waits_until = anyio.current_time() + wait_s
        failing_since, delay_s = None, DELAY_S_FIRST
        while True:
            began = anyio.current_time()
            left_s = max(0.0, waits_until - began) if wait_s else 0.0
            asked = {name: str(value) for name, value in query.items() if value is not None} | _wait(left_s)
            outcome = await self._try(method, path, asked, body, left_s)
            if isinstance(outcome, str):
                return outcome
            error, is_hub_there, not_before_s = outcome
            if is_hub_there:
                self._heard.set()
            now = anyio.current_time()
            if failing_since is None or now - began > DELAY_S_MAX:  # it was there meanwhile
                failing_since = now
            again_s = max(not_before_s, delay_s * random.uniform(0.7, 1.0))  # noqa: S311  # jitter, no secret
            patience_s = PATIENCE_S if self._heard.is_set() else UNKNOWN_PATIENCE_S
            if now + again_s - failing_since > patience_s:
                raise error
            await anyio.sleep(again_s)
            delay_s = min(2 * delay_s, DELAY_S_MAX)

    async def _try(
        self, method: str, path: str, query: dict[str, str], body: dict[str, Any] | None, wait_s: float
    ) -> "str | tuple[StoreError, bool, float]":
        """One try: the answer; or why there is none yet, whether anything took the request, and how long to wait at least."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Tasuki-Client": self._client} if self._client else {}
        timeout = httpx2.Timeout(ANSWER_S + wait_s, connect=CONNECT_S)
        try:
            response = await self._http.request(method, path, params=query, content=content, headers=headers, timeout=timeout)
        except httpx2.TransportError as error:
            return self._address.unreachable(error), not is_unheard(error), 0.0
        refusal = self._address.refusal(response)
        if refusal is None:
            self._heard.set()
            return response.content.decode()
        if not is_worth_repeating(response, refusal):
            raise refusal
        return refusal, True, retry_after_s(response)


def _once(body: dict[str, Any]) -> dict[str, Any]:
    """The body with an idempotency key."""
    return body if body.get("append_id") is not None else {**body, "append_id": _new_append_id()}


def _new_append_id() -> str:
    return f"mcp:{uuid.uuid4()}"


def _wait(left_s: float) -> dict[str, str]:
    return {"wait": f"{left_s:.3f}"} if left_s else {}
