"""Floor: a bare asyncio protocol that writes prebuilt bytes, the least that HTTP costs in this language.

POST /append and GET /page (500 KB) are answered at once, GET /wait is held, GET /waiting counts those, POST /wake answers
all that are held, then its caller.
"""

import asyncio
import sys
from typing import cast

import anyio

BODY = b'{"session_id":"ses_0","messages":[' + b"x" * 1200 + b"]}"
PAGE_BYTES = 550_000
APPENDED = b'{"seq":1000000,"append_id":"0123456789abcdef","duplicate":false}'


def _answer(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


_HELD, _APPENDED, _PAGE = _answer(BODY), _answer(APPENDED), _answer(b"x" * PAGE_BYTES)
_held: list[asyncio.Transport] = []


class FloorProtocol(asyncio.Protocol):
    """One connection. Requests are told apart by the length that they name, and by little else."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:

        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head_end = self._buffer.find(b"\r\n\r\n")
        if head_end < 0:
            return
        at = self._buffer.find(b"content-length: ", 0, head_end)
        length = int(self._buffer[at + 16 : self._buffer.find(b"\r", at)]) if at >= 0 else 0
        if len(self._buffer) < head_end + 4 + length:
            return
        path, self._buffer = self._buffer.split(b" ", 2)[1], self._buffer[head_end + 4 + length :]
        if path == b"/wait":
            _held.append(self.transport)
            return
        if path == b"/wake":
            waiting, _held[:] = _held[:], []
            for transport in waiting:
                transport.write(_HELD)
        if path == b"/waiting":
            self.transport.write(_answer(b'{"waiting":%d}' % len(_held)))
        else:
            self.transport.write(_PAGE if path == b"/page" else _APPENDED)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(FloorProtocol, "127.0.0.1", 0, backlog=4096)
    print(f"Floor at http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    anyio.run(_serve, backend_options={"use_uvloop": sys.platform != "win32"})
