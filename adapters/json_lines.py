"""A line of JSON in an agent's file, as it is read and as it is kept for the way home.

A line is kept as a value, numbers by their spelling, so that redaction sees real strings and the way home is exact.
What the hub would not take as a value (a key twice, nesting near its limit) is kept as text instead; bytes that are no
UTF-8, as base64.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from adapters.conversion import Json
from eventstore.errors import InvalidJson
from eventstore.wire import codec

NESTING_MAX = codec.NESTING_MAX - 4  # a record stands at most four levels deep in what is sent

BLANK = "a blank line"
NOT_UTF8 = "not UTF-8"
NOT_JSON = "not JSON"
NOT_OBJECT = "JSON, but no object"
TORN = "the last line is torn: its end was not written"


class Parsed(NamedTuple):
    """A line's text and value. `problem` is empty for an object; `is_exact`: the value stands for the text, which is let go."""

    text: str | None
    value: Any
    problem: str
    is_exact: bool


def boxed(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield each line in a list of its own: who takes it out is the only one to hold it."""
    iterator = iter(lines)
    while box := list(islice(iterator, 1)):
        yield box


def bare_size(raw: bytes) -> int:
    """How many bytes a line has without its line end."""
    return len(raw) - (2 if raw.endswith(b"\r\n") else 1 if raw.endswith((b"\n", b"\r")) else 0)


def parse_line(raw: bytes | memoryview) -> Parsed:
    """Read one line, without its line end. Never raises."""
    try:
        text = str(raw, "utf-8")
    except UnicodeDecodeError:
        return Parsed(None, None, NOT_UTF8, False)
    del raw  # a long line shall not be there three times: as bytes, as text and as what it says
    if text.isspace() or not text:
        return Parsed(text, None, BLANK, False)
    try:
        value, is_exact = codec.parse(text), _nesting_fits(text)
    except InvalidJson:
        try:
            value, is_exact = LENIENT.decode(text), False
        except (ValueError, RecursionError):
            return Parsed(text, None, NOT_JSON, False)
    return Parsed(None if is_exact else text, value, "" if isinstance(value, dict) else NOT_OBJECT, is_exact)


def head(lines: Iterable[bytes], count_max: int = 64) -> list[Parsed]:
    """Return what the first lines of a file say, blank ones aside."""
    bare = (raw.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n") for raw in islice(lines, count_max))
    return [parsed for parsed in map(parse_line, bare) if parsed.problem != BLANK]


def native_record(number: int, raw: bytes | memoryview) -> Json:
    """Return a line as it is kept for the way home: `{line, record}`, or `{line, raw}`, or `{line, base64}`."""
    held = [raw]
    del raw
    try:
        str(held[0], "utf-8")
    except UnicodeDecodeError:
        return {"line": number, "base64": b64encode(held[0]).decode("ascii")}
    parsed = parse_line(held.pop())
    return {"line": number, "record": parsed.value} if parsed.is_exact else {"line": number, "raw": parsed.text}


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


# Reads what the codec refuses as well: a key twice, nesting without an end.
LENIENT = json.JSONDecoder(parse_int=codec.Number, parse_float=codec.Number, parse_constant=_refuse_constant)


def _nesting_fits(text: str) -> bool:
    """Would the hub take this value inside what is sent? Asked of the codec itself, for the few lines it may be."""
    if text.count("[") + text.count("{") <= NESTING_MAX:
        return True
    wrap = codec.NESTING_MAX - NESTING_MAX
    try:
        codec.parse("[" * wrap + text + "]" * wrap)
    except InvalidJson:
        return False
    return True
