"""A TCP proxy on loopback between a hub and its database, that can be cut, blocked, stranded and resumed.

It runs in a thread of its own, so that it works while a test's event loop is busy starting processes.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

HOST = "127.0.0.1"
_CHUNK_BYTES = 65_536
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends RST, as a peer that died does


class Proxy:
    """Passes bytes to the server of `dsn` until it is told otherwise. Start it before use."""

    def __init__(self, dsn: str) -> None:
        self.forward_to(dsn)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._links: set[_Link] = set()
        self._is_cut = False
        self._open = asyncio.Event()
        self.port = 0

    def dsn(self, dsn: str) -> str:
        """The same DSN by way of this proxy."""
        return make_conninfo(dsn, host=HOST, port=self.port)

    def forward_to(self, dsn: str) -> None:
        """Let connections that are opened from now on go to the server of this DSN."""
        server = conninfo_to_dict(dsn)
        self._target = (str(server["host"]), int(str(server["port"])))

    def cut(self) -> None:
        """End every connection with a reset, and refuse new ones until `resume`."""
        self._do(self._cut)

    def block(self) -> None:
        """Hold back every byte, of old and new connections, until `resume`. Nobody is told."""
        self._do(self._open.clear)

    def strand(self) -> None:
        """Let the connections that are open fall silent for good; new ones pass."""
        self._do(self._strand)

    def resume(self) -> None:
        """Pass bytes again, beginning with those held back."""
        self._do(self._resume)

    @property
    def connections(self) -> int:
        """How many are open now, stranded ones too."""
        return len(self._links)

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _listen(self) -> None:
        self._open.set()
        self._server = await asyncio.start_server(self._accept, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = _Link(self._open, (reader, writer))
        if self._is_cut:
            link.reset()
            return
        self._links.add(link)
        try:
            with contextlib.suppress(OSError):
                await link.run(self._target)
        finally:
            self._links.discard(link)

    def _cut(self) -> None:
        self._is_cut = True
        for link in self._links:
            link.reset()

    def _strand(self) -> None:
        for link in self._links:
            link.is_stranded = True

    def _resume(self) -> None:
        self._is_cut = False
        self._open.set()

    async def _close(self) -> None:
        self._server.close()
        self._cut()
        self._open.set()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=5)

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def _do(self, work: Callable[[], object]) -> None:
        async def run() -> None:
            work()

        self._call(run())


_Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Link:
    """One client's connection and the one to the server that stands for it."""

    def __init__(self, opened: asyncio.Event, client: _Side) -> None:
        self._open, self._sides = opened, [client]
        self.is_stranded = False

    def reset(self) -> None:
        for _, writer in self._sides:
            end: socket.socket = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()

    async def run(self, target: tuple[str, int]) -> None:
        try:
            self._sides.append(await asyncio.open_connection(*target))
            (client_in, client_out), (server_in, server_out) = self._sides
            ways: list[Awaitable[None]] = [self._pump(client_in, server_out), self._pump(server_in, client_out)]
            await asyncio.gather(*ways)
        finally:
            self.reset()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(_CHUNK_BYTES):
            await self._open.wait()
            if self.is_stranded:
                continue  # swallowed
            sink.write(data)
            await sink.drain()
        if not self.is_stranded:
            sink.write_eof()


@contextlib.contextmanager
def proxied(dsn: str) -> Iterator[tuple[Proxy, str]]:
    """A proxy before the server of `dsn`, and the DSN that goes through it."""
    with Proxy(dsn) as proxy:
        yield proxy, proxy.dsn(dsn)
