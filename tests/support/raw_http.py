"""HTTP/1.1 over a bare socket: any bytes may be sent, connections are kept, and every wait has a deadline."""

import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

DEADLINE_S = 30
_ANSWER_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True)
class Answer:
    """What came back; `status` 0: the connection was closed without an answer."""

    status: int
    body: bytes = b""


class Wire:
    """One caller on one connection at a time, opened anew when the server closes it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname or "", parts.port or 80)
        self._socket: socket.socket | None = None
        self.opened = 0

    def close(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None

    def ask(self, request: bytes, keep: bool = True) -> Answer:
        """Send bytes and return the answer. `keep`: they are one whole request, so that the connection can be used again, and
        one that the server had closed meanwhile is opened anew. Raises TimeoutError when there is no answer in time.
        """
        if keep and self._socket is not None:
            answer = self._ask(self._socket, request, keep)
            if answer.status:
                return answer
        self.close()
        self._socket = socket.create_connection(self._address, DEADLINE_S)
        self.opened += 1
        return self._ask(self._socket, request, keep)

    def _ask(self, connection: socket.socket, request: bytes, keep: bool) -> Answer:
        try:
            connection.sendall(request)
            if not keep:
                connection.shutdown(socket.SHUT_WR)
            answer, is_over = self._read(connection, b"")
        except (BrokenPipeError, ConnectionResetError):
            answer, is_over = Answer(0), True
        if is_over or not keep:
            self.close()
        return answer

    def _read(self, connection: socket.socket, received: bytes) -> tuple[Answer, bool]:
        """The answer, and whether the connection is over with it. Of a stream, no more than its head."""
        while b"\r\n\r\n" not in received:
            piece = connection.recv(65536)
            if not piece:
                return Answer(0), True
            received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        status, headers = _parsed(head)
        if status == 100:  # go on: the answer follows
            return self._read(connection, body)
        if b"content-length" not in headers:
            return Answer(status, body), True
        length = min(int(headers[b"content-length"]), _ANSWER_BYTES_MAX)
        pieces = [body]
        while sum(map(len, pieces)) < length:
            piece = connection.recv(1024 * 1024)
            if not piece:
                break
            pieces.append(piece)
        return Answer(status, b"".join(pieces)), headers.get(b"connection", b"").lower() == b"close"


def _parsed(head: bytes) -> tuple[int, dict[bytes, bytes]]:
    first, *lines = head.split(b"\r\n")
    pairs = (line.partition(b":") for line in lines)
    return int(first.split()[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}
