"""HTTP: a client that costs little beside what it measures. One request at a time a connection, or one stream."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

from bench.stage import Hub, Server

CONNECTING_MAX = 200  # at once, below every listen queue


class Connection(asyncio.Protocol):
    """A kept-alive connection to a server. A server closes one that was idle for some seconds; then it is opened again."""

    transport: asyncio.Transport

    def __init__(self, server: Server) -> None:
        self._server = server

    async def open(self) -> None:
        await asyncio.get_running_loop().create_connection(lambda: self, *self._server.address)

    async def ready(self) -> None:
        """Open it again if it was closed. To be awaited before `request` after a pause, outside of what is measured."""
        if self.transport.is_closing():
            await self.open()

    async def ask(self, data: bytes) -> bytes:
        """Send a request and return the answer's body. Raises ConnectionError for any status but 2xx."""
        await self.ready()
        return await self.request(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:

        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._buffer = bytearray()
        self._needs = 0
        self._waiting: asyncio.Future[bytes] | None = None
        self._on_data: Callable[[bytes], None] | None = None

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("The server closed the connection."))

    def request(self, data: bytes) -> asyncio.Future[bytes]:
        """Send a request; the future gives the answer's body, or raises ConnectionError for any status but 2xx."""
        self._buffer.clear()
        self._needs = 0
        self._waiting = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        return self._waiting

    def follow(self, data: bytes, on_data: Callable[[bytes], None]) -> None:
        """Send a request whose answer does not end; `on_data` gets what comes, headers too."""
        self._on_data = on_data
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        if self._on_data:
            self._on_data(data)
            return
        self._buffer += data
        if not self._needs:
            head_end = self._buffer.find(b"\r\n\r\n")
            if head_end < 0:
                return
            at = self._buffer.find(b"content-length: ", 0, head_end)
            self._needs = head_end + 4 + int(self._buffer[at + 16 : self._buffer.find(b"\r", at)])
            self._head_end = head_end
        if len(self._buffer) >= self._needs and self._waiting and not self._waiting.done():
            if self._buffer[9:10] == b"2":
                self._waiting.set_result(bytes(self._buffer[self._head_end + 4 :]))
            else:
                self._waiting.set_exception(ConnectionError(bytes(self._buffer[:500]).decode("utf-8", "replace")))


async def connect(server: Server, count: int = 1) -> list[Connection]:
    """Open connections to a server."""
    connections = [Connection(server) for _ in range(count)]
    for first in range(0, count, CONNECTING_MAX):
        await asyncio.gather(*(connection.open() for connection in connections[first : first + CONNECTING_MAX]))
    return connections


def close(connections: list[Connection]) -> None:
    for connection in connections:
        connection.transport.close()


def get(server: Server, path: str) -> bytes:
    """The bytes of a GET request."""
    return _head(server, "GET", path) + b"\r\n"


def post(server: Server, path: str, body: bytes) -> bytes:
    """The bytes of a POST request."""
    return b"%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (_head(server, "POST", path), len(body), body)


async def new_session(hub: Hub, connection: Connection) -> tuple[str, int]:
    """Create a session and return its id and the seq of its creation."""
    answer: dict[str, Any] = json.loads(await connection.ask(post(hub, "/v1/sessions", b'{"project_id":"bench"}')))
    return str(answer["session_id"]), int(answer["seq"])


def _head(server: Server, method: str, path: str) -> bytes:
    token = f"authorization: Bearer {server.token}\r\n" if isinstance(server, Hub) else ""
    return f"{method} {path} HTTP/1.1\r\nhost: {server.address[0]}:{server.address[1]}\r\n{token}".encode()
