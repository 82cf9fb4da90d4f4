"""A `messages` file piece by piece: for sessions that are too large to be in memory as a whole, or a line of which is."""

from collections.abc import Callable, Iterable
from typing import Any

from adapters.conversion import Json
from adapters.messages.lines import header_line, kept_lines
from adapters.session import is_message
from eventstore.wire import codec

PIECE_CHARS = 256 * 1024


def stream(write: Callable[[bytes], object], meta: Json, entries: Iterable[Json], header: Json | None = None) -> None:
    """Hand the file to `write`, in order, in pieces: the same bytes as `writer.write` gives, never more than one string at once."""
    write(header_line(meta, header or {}))
    pieces = _Pieces(write)
    for entry in entries:
        kept = None if is_message(entry) else kept_lines(entry)
        if kept is None:
            pieces.put_value(entry)
            pieces.put("\n")
        else:
            pieces.flush()
            write(b"".join(kept))
    pieces.flush()


class _Pieces:
    """Collects short texts until they are worth a write."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._texts: list[str] = []
        self._chars = 0

    def put_value(self, value: Any) -> None:
        """The JSON text of `codec.dump`, part by part."""
        match value:
            case dict():
                mark = "{"
                for key, inner in value.items():
                    self.put(f"{mark}{codec.quote(key)}:")
                    self.put_value(inner)
                    mark = ","
                self.put("}" if value else "{}")
            case list():
                mark = "["
                for inner in value:
                    self.put(mark)
                    self.put_value(inner)
                    mark = ","
                self.put("]" if value else "[]")
            case _:
                self.put(codec.dump(value))

    def put(self, text: str) -> None:
        if len(text) >= PIECE_CHARS:
            self.flush()
            for start in range(0, len(text), PIECE_CHARS):
                self._write(text[start : start + PIECE_CHARS].encode())
            return
        self._texts.append(text)
        self._chars += len(text)
        if self._chars >= PIECE_CHARS:
            self.flush()

    def flush(self) -> None:
        self._write("".join(self._texts).encode())
        self._texts, self._chars = [], 0
