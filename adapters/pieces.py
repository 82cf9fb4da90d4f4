"""A JSON text in pieces, so that a string of many megabytes is never there twice."""

from collections.abc import Iterator
from typing import Any

from eventstore.wire import codec

LONG_CHARS = 256 * 1024


def is_long(value: Any) -> bool:
    """Is there a string in it that is worth the trouble?"""
    if isinstance(value, str):
        return len(value) >= LONG_CHARS
    if isinstance(value, dict):
        return any(map(is_long, value.values()))
    return isinstance(value, list | tuple) and any(map(is_long, value))


def pieces(value: Any) -> Iterator[str]:
    """Yield what `codec.dump` returns, a long string in pieces of at most LONG_CHARS characters before they are escaped."""
    if not is_long(value):
        yield codec.dump(value)
    elif isinstance(value, dict):
        for count, (key, inner) in enumerate(value.items()):
            yield f"{',' if count else '{'}{codec.quote(key)}:"
            yield from pieces(inner)
        yield "}"
    elif isinstance(value, list | tuple):
        for count, inner in enumerate(value):
            yield "," if count else "["
            yield from pieces(inner)
        yield "]"
    else:
        yield '"'
        for start in range(0, len(value), LONG_CHARS):
            yield codec.quote(value[start : start + LONG_CHARS])[1:-1]
        yield '"'


def encoded(value: Any) -> Iterator[bytes]:
    """Yield the same as UTF-8."""
    return (piece.encode() for piece in pieces(value))
