"""A hub for the public test tools, which send no token: the real one, put together by `serve`, with three switches.

`fixture` puts the suite's fixed names in the place of the hub's tools; `hub` keeps these. Either way a request that comes
without a token gets the operator's, and `/-/tasks` tells what tasks the process has. All of this is here and nowhere in the hub.
"""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from cli import serve
from cli.main import main
from tests.conformance.fixture_names import fixture_server
from transports.mcp.http import McpEndpoint
from transports.rest.app import rest_app
from transports.service import Service


class Opened:
    """Tells who asks of its tasks; gives a request without a token the one in the file, and lets it go the way of every other."""

    def __init__(self, app: ASGIApp, token_path: Path) -> None:
        self._app, self._token_path = app, token_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/-/tasks":
            await JSONResponse([getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()])(scope, receive, send)
            return
        if scope["type"] == "http" and all(name != b"authorization" for name, _ in scope["headers"]):
            token = self._token_path.read_bytes().strip()
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", b"Bearer " + token)]}
        await self._app(scope, receive, send)


def endpoint(service: Service) -> McpEndpoint:
    """Return the hub's own endpoint with the suite's names behind it."""
    return McpEndpoint(fixture_server(), service.settings.request_bytes_max)


def app(service: Service, mounts: Mapping[str, ASGIApp]) -> ASGIApp:
    """Return the hub's own application for callers that bring no token."""
    return Opened(rest_app(service, mounts), service.settings.token_path)


if __name__ == "__main__":
    names, *options = sys.argv[1:]
    with ExitStack() as switches:
        switches.enter_context(patch.object(serve, "rest_app", app))
        if names == "fixture":
            switches.enter_context(patch.object(serve, "mcp_endpoint", endpoint))
        sys.exit(main(["serve", *options]))
