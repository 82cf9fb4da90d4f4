"""MCP over streamable HTTP, stateless: each request stands alone, so a restart strands no client and there is no session to lose.

The token, Host and Origin were checked before; `scope` says who calls.

1. A body posted by hand, without the headers that the protocol wants (as curl sends it), is answered as JSON.
2. So is all that a handshake-era client asks, but for reads, which may wait and report progress. The SDK would give the rest as
   an event of a stream, too, and its own client takes no event over 1 MiB: no message of 12 MB.
3. A client that goes away is noticed in each case, and what was done for it ends.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import PARSE_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from eventstore.errors import InvalidJson, MethodNotAllowed
from transports.mcp import body
from transports.mcp.local import LocalHub
from transports.mcp.server import Context, client_name, mcp_server
from transports.mcp.watch import Watch
from transports.service import Service

_JSON, _SSE = "application/json", "text/event-stream"
_UNTOLD_VERSION = "2025-03-26"  # of a client that does not say which it speaks


class McpEndpoint:
    """The ASGI application at /mcp. It answers while `running` is open."""

    def __init__(
        self, server: Server[Any], request_bytes_max: int, has_progress: Callable[[bytes], bool] = lambda content: True
    ) -> None:
        """`has_progress` tells by its body whether a request may have something to say before its answer."""
        self._request_bytes_max, self._has_progress = request_bytes_max, has_progress
        self._streaming = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=request_bytes_max)
        self._plain = StreamableHTTPSessionManager(
            server, stateless=True, json_response=True, max_request_body_size=request_bytes_max
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the transports' tasks for as long as the context is open."""
        async with self._streaming.run(), self._plain.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed("There is no session here to be opened or ended: POST each request to /mcp.", allow="POST")
        content = await body.read(receive, self._request_bytes_max)
        try:
            body.check(content)
        except InvalidJson as error:
            await _parse_error(error)(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope = _with_protocol_headers(scope, headers)
        is_answered = False

        async def answer(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        if _SSE in headers.get("accept", "") and (_is_modern(headers) or self._has_progress(content)):
            await self._streaming.handle_request(scope, body.replay(content, receive), answer)
        else:
            await _until_gone(self._plain, scope, content, receive, answer)
        if not is_answered:
            raise ClientDisconnect


def mcp_endpoint(service: Service) -> McpEndpoint:
    """Return the endpoint for a hub."""

    def hub_of(context: Context) -> LocalHub:
        assert context.request is not None
        scope = context.request.scope
        scope["tasuki.log"]["mcp"] = context.method
        who = scope["tasuki.principal"]
        return LocalHub(service, who if who.client else replace(who, client=client_name(context)))

    server = mcp_server(hub_of, Watch(service.tails.stopping))
    return McpEndpoint(server, service.settings.request_bytes_max, lambda content: b'"read_session"' in content)


def _is_modern(headers: Headers) -> bool:
    """Whether the SDK will take the request for one of the era that answers as JSON by itself where that is possible."""
    return headers.get("mcp-protocol-version", _UNTOLD_VERSION) not in HANDSHAKE_PROTOCOL_VERSIONS


async def _until_gone(manager: StreamableHTTPSessionManager, scope: Scope, content: bytes, receive: Receive, send: Send) -> None:
    """Answer as JSON, or stop when the client goes away meanwhile: while it makes a plain answer, the SDK does not look."""
    is_gone = anyio.Event()

    async def once_gone() -> Message:
        await is_gone.wait()
        return {"type": "http.disconnect"}

    async def watch(cancel_scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        is_gone.set()
        cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, tasks.cancel_scope)
        await manager.handle_request(scope, body.replay(content, once_gone), send)
        tasks.cancel_scope.cancel()


def _parse_error(error: InvalidJson) -> JSONResponse:
    what = {"code": PARSE_ERROR, "message": error.detail, "data": {"code": error.code}}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": what}, HTTPStatus.BAD_REQUEST)


def _with_protocol_headers(scope: Scope, headers: Headers) -> Scope:
    """The scope with what the transport insists on, where a client left it out, and values without the white space around them
    (RFC 9110 has it away before a value is looked at; the HTTP parser leaves what trails)."""
    missing: list[tuple[bytes, bytes]] = []
    if _JSON not in headers.get("accept", ""):
        missing.append((b"accept", f"{_JSON}, {_SSE}".encode()))
    if not headers.get("content-type", "").startswith(_JSON):
        missing.append((b"content-type", _JSON.encode()))
    replaced = {name for name, _ in missing}
    kept = [(name, value.strip(b" \t")) for name, value in scope["headers"] if name not in replaced]
    return {**scope, "headers": kept + missing}
