"""Line: what libpq says, without the driver's layers, which take longer than the database does for a short statement.

Rows read by place, one prepared statement at a time, notices as they arrive. https://www.postgresql.org/docs/current/libpq-async.html
"""

import asyncio
import socket
from collections.abc import Callable
from datetime import datetime
from typing import Any

_TEXT, _BINARY = 0, 1
_NONE = -1  # no file descriptor


class Rows:
    """The rows of one answer, read by place without making a tuple of each; `bytes` values are the wire's."""

    def __init__(self, result: Any) -> None:
        self._value = result.get_value
        self.count: int = result.ntuples

    def bytes(self, row: int, column: int) -> bytes | None:
        value: bytes | None = self._value(row, column)
        return value

    def int(self, row: int, column: int) -> int | None:
        value = self._value(row, column)
        return None if value is None else int.from_bytes(value, "big", signed=True)


class Line:
    """A connection of libpq which the event loop watches from its first use here until it `rest`s, in which others may use it.

    `pgconn`: a `psycopg.pq.PGconn` that does not block. After an error or a cancellation it is of no more use.
    """

    def __init__(self, pgconn: Any) -> None:
        self._pgconn = pgconn
        self._loop = asyncio.get_running_loop()
        self._fd = _NONE  # a double of libpq's, which closes its own when the link is gone, and while it is watched
        self._is_unsent = False
        self._ended: asyncio.Future[Any] | None = None
        self._result: Any = None
        self._take: Callable[[int, bytes], None] | None = None

    async def ask(self, statement: bytes, arguments: list[Any], answer_s: float) -> Any:
        """Return the result of a prepared statement, an error too. A list is one of numbers.

        Raises TimeoutError, psycopg.OperationalError (the link is gone).
        """
        values: list[Any] = []
        formats: list[int] = []
        for argument in arguments:
            kind = type(argument)
            values.append(_WRITTEN[kind](argument) if kind in _WRITTEN else argument)
            formats.append(_TEXT if kind in _AS_TEXT else _BINARY)
        self._result, self._ended = None, self._loop.create_future()
        late = self._loop.call_later(answer_s, self._end, TimeoutError())
        try:
            self._watch()
            self._pgconn.send_query_prepared(statement, values, formats, _BINARY)
            self._flush()
            return await self._ended
        except BaseException:
            self.rest()
            raise
        finally:
            late.cancel()
            self._ended = None

    async def hear(self, take: Callable[[int, bytes], None]) -> None:
        """Call `take(backend_pid, payload)` for each notice, until cancelled. Raises psycopg.OperationalError: the link is gone."""
        self._take, self._ended = take, self._loop.create_future()
        try:
            self._watch()
            await self._ended
        finally:
            self.rest()

    def rest(self) -> None:
        """Let others wait for what the connection says."""
        if self._fd != _NONE:
            self._loop.remove_reader(self._fd)
            if self._is_unsent:
                self._loop.remove_writer(self._fd)
            socket.close(self._fd)
        self._fd, self._is_unsent = _NONE, False

    def _watch(self) -> None:
        if self._fd == _NONE:
            self._fd = socket.dup(self._pgconn.socket)
            self._loop.add_reader(self._fd, self._safely, self._read)

    def _safely(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001  # told to who waits
            self._end(error)

    def _flush(self) -> None:
        is_unsent = self._pgconn.flush() != 0
        if is_unsent and not self._is_unsent:
            self._loop.add_writer(self._fd, self._safely, self._flush)
        elif self._is_unsent and not is_unsent:
            self._loop.remove_writer(self._fd)
        self._is_unsent = is_unsent

    def _read(self) -> None:
        for _ in range(2):  # uvloop tells once of a broken socket, along with what came before it broke
            self._pgconn.consume_input()
            if self._is_unsent:
                self._flush()
            if self._take:
                while notice := self._pgconn.notifies():
                    self._take(notice.be_pid, notice.extra)
            elif self._ended and self._is_answered(self._ended):
                return

    def _is_answered(self, ended: asyncio.Future[Any]) -> bool:
        while not ended.done() and not self._pgconn.is_busy():
            result = self._pgconn.get_result()
            if result is None:
                ended.set_result(self._result)
            self._result = result or self._result
        return ended.done()

    def _end(self, error: Exception) -> None:
        self.rest()  # what is broken can be read for ever
        if self._ended and not self._ended.done():
            self._ended.set_exception(error)


_WRITTEN: dict[type, Callable[[Any], bytes]] = {
    str: str.encode,
    int: lambda number: b"%d" % number,
    bool: lambda truth: b"t" if truth else b"f",
    datetime: lambda moment: moment.isoformat().encode(),
    list: lambda numbers: b"{%b}" % ",".join(map(str, numbers)).encode(),
}
_AS_TEXT = _WRITTEN.keys() - {str}
