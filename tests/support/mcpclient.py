"""A caller of the hub over MCP with the SDK's own client: over HTTP in both protocol eras, and over stdio through `tasuki mcp`.

It has the verbs of `restclient.Rest`. What no tool does (deleting, the log's head) it does over REST.
"""

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from hubs import HubProcess
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult
from restclient import Refused, Rest

MODERN, HANDSHAKE = "2026-07-28", "legacy"
ERAS = (MODERN, HANDSHAKE)
WAYS = tuple(f"{way} {era}" for way in ("http", "stdio") for era in ERAS)
MANY = httpx2.Limits(max_connections=1000, max_keepalive_connections=20)


class Mcp:
    """One caller in one project."""

    def __init__(self, client: Client, rest: Rest) -> None:
        self.client, self.rest, self.project_id = client, rest, rest.project_id
        self.append_all, self.delete, self.log_head = rest.append_all, rest.delete, rest.log_head

    async def answer(self, tool: str, **arguments: Any) -> CallToolResult:
        """Return a tool's answer, whatever it says."""
        return await self.client.call_tool(tool, arguments)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return a tool's structured answer. Raises Refused."""
        answer = await self.answer(tool, **arguments)
        if answer.is_error:
            code, _, detail = text_of(answer).partition(": ")
            raise Refused(code, detail)
        assert isinstance(answer.structured_content, dict)
        return answer.structured_content

    async def created(self, **fields: Any) -> dict[str, Any]:
        return await self.call("create_session", **{"project_id": self.project_id, **fields})

    async def create(self, **fields: Any) -> str:
        return str((await self.created(**fields))["session_id"])

    async def append(
        self, session_id: str, /, content: Any = "hi", role: Any = "user", *, expected_seq: int | None = None, **fields: Any
    ) -> dict[str, Any]:
        message = {"role": role, "content": content, **fields}
        expected = {} if expected_seq is None else {"expected_seq": expected_seq}
        return await self.call("append_message", session_id=session_id, message=message, **expected)

    async def page(self, session_id: str, after_seq: int = 0, wait: float = 0, **query: Any) -> dict[str, Any]:
        return await self.call("read_session", session_id=session_id, after_seq=after_seq, wait_seconds=wait, **query)

    async def read(self, session_id: str, limit: int = 100, **query: Any) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        after, more = 0, True
        while more:
            page = await self.page(session_id, after, limit=limit, **query)
            messages += page["messages"]
            after, more = page["next_after_seq"], page["has_more"]
        return messages

    async def texts(self, session_id: str, limit: int = 100) -> list[Any]:
        return [message["content"] for message in await self.read(session_id, limit)]

    async def patch(self, session_id: str, meta: dict[str, Any], append_id: str | None = None) -> dict[str, Any]:
        return await self.call("update_session_meta", session_id=session_id, meta=meta, append_id=append_id)

    async def sessions(self, **query: Any) -> dict[str, Any]:
        return await self.call("list_sessions", project_id=self.project_id, **query)

    async def lineage(self, session_id: str) -> dict[str, Any]:
        return dict(json.loads(await self.resource(f"session://{session_id}")))

    async def resource(self, uri: str) -> str:
        """Return the text of a resource."""
        (content,) = (await self.client.read_resource(uri)).contents
        return str(getattr(content, "text"))  # noqa: B009  # the union's other member has none

    async def snapshot(self, session_id: str, **fields: Any) -> dict[str, Any]:
        return await self.call("create_snapshot", session_id=session_id, **fields)

    async def snapshots(self, session_id: str, **query: Any) -> dict[str, Any]:
        return await self.call("list_snapshots", session_id=session_id, **query)

    async def forked(self, snapshot_id: str, **fields: Any) -> dict[str, Any]:
        return await self.call("load_snapshot", snapshot_id=snapshot_id, **fields)

    async def fork(self, snapshot_id: str, **fields: Any) -> str:
        return str((await self.forked(snapshot_id, **fields))["session_id"])


Caller = Rest | Mcp


def text_of(answer: CallToolResult) -> str:
    """The text of a tool's answer."""
    (block,) = answer.content
    return str(getattr(block, "text"))  # noqa: B009  # the union's other members have none


@asynccontextmanager
async def over_http(hub: HubProcess, era: str) -> AsyncIterator[Client]:
    """A client of the hub's /mcp in one of the ERAS."""
    async with (
        hub.client(limits=MANY) as http,
        Client(streamable_http_client(f"{hub.url}/mcp", http_client=http), mode=era, cache=None) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(hub: HubProcess, era: str, **environment: str) -> AsyncIterator[Client]:
    """A client of `tasuki mcp`, which it starts and ends."""
    async with Client(stdio_of(hub, **environment), mode=era, cache=None) as client:
        yield client


@asynccontextmanager
async def over(skin: str, hub: HubProcess) -> AsyncIterator[Client]:
    """A client through one of the WAYS: "http" or "stdio", and an era."""
    way, era = skin.split(" ")
    async with over_http(hub, era) if way == "http" else over_stdio(hub, era) as client:
        yield client


def stdio_of(hub: HubProcess, **environment: str) -> StdioServerParameters:
    """How an agent is told to start `tasuki mcp`."""
    env = {"PATH": os.environ["PATH"], "TASUKI_URL": hub.url, "TASUKI_TOKEN": hub.token, **environment}
    return StdioServerParameters(command=sys.executable, args=["-m", "cli.main", "mcp"], env=env)
