"""JSON that keeps its own text: parse once, know every top-level member's place, change nothing else.

The standard library's scanner is used, since it alone keeps lone surrogate escapes, `\\u0000` and numbers of any length.
It accepts more than JSON allows, so the rest is checked here: duplicate keys, NaN, nesting, bytes that are no UTF-8.
"""

import json
import re
from collections.abc import Callable, Container, Iterator
from json import decoder as _json
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, NamedTuple

from eventstore.errors import InvalidJson

NESTING_MAX = 128

scanstring: Callable[[str, int, bool], tuple[str, int]] = vars(_json)["scanstring"]  # public by name, absent from the type stubs

_space = re.compile(r"[ \t\n\r]*")
_string = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?+'  # possessive: linear on any text, also on a string that never ends
_bracket_or_string = re.compile(rf"[\[\]{{}}]|{_string}", re.DOTALL)
_token = re.compile(rf"{_string}|[\[\]{{}},]", re.DOTALL)  # with what lies between them passed over
_member = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')  # its name and colon, as almost all are written
_comma = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
_surrogate = re.compile("[\ud800-\udfff]")


class Number:
    """A number as it was written; equal to another one of the same spelling. No `str`, so that none passes for text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text

    def as_int(self) -> int | None:
        """The value, when it is written as an integer of at most 18 digits; else None."""
        return int(self.text) if len(self.text) <= 18 and self.text.lstrip("-").isdigit() else None


class Source(NamedTuple):
    """JSON text that `dump` puts in as it is."""

    text: str


class Document(NamedTuple):
    """A JSON object: its text, its members' values (numbers as `Number`), and where each member stands in the text."""

    text: str
    fields: dict[str, Any]
    spans: dict[str, tuple[int, int, int]]  # start of the key, start of the value, end

    def source(self, name: str) -> str:
        """The text of one member's value, as it came."""
        _, start, end = self.spans[name]
        return self.text[start:end]

    def with_members(self, first: dict[str, str], without: Container[str] = ()) -> str:
        """The object's text with `first` (name -> source text) before its own members, less those and the ones in `without`."""
        new = [f"{quote(name)}:{source}" for name, source in first.items()]
        own = [self.text[start:end] for name, (start, _, end) in self.spans.items() if name not in without and name not in first]
        return "{" + ",".join(new + own) + "}"


class StringToken(NamedTuple):
    """One string of a JSON text: its place with the quotes, its value, and the keys and indexes that lead to it."""

    start: int
    end: int
    value: str
    path: tuple[str | int, ...]
    is_key: bool


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add() is None on purpose
        raise InvalidJson(f"The key {twice[:100]!a} stands twice in one object; which one counts cannot be told.")
    return members


def _no_constant(word: str) -> Any:
    raise InvalidJson(f"{word} is not JSON.")


_decoder = json.JSONDecoder(object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_int=Number, parse_float=Number)
_scan_once: Callable[[str, int], tuple[Any, int]] = vars(_decoder)["scan_once"]


def decode_text(raw: bytes) -> str:
    """Return the text of UTF-8 bytes. Raises InvalidJson."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJson(f"The body is not UTF-8: byte {error.start} cannot be read.") from None


def parse(text: str) -> Any:
    """Return the value of a JSON text, numbers as `Number`. Raises InvalidJson."""
    _check_nesting(text)
    start = _skip(text, 0)
    value, end = _scan(text, start)
    _check_end(text, end)
    return value


def parse_object(text: str) -> Document:
    """Return the JSON object that `text` is, with the place of each member's value. Raises InvalidJson."""
    _check_nesting(text)
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        raise InvalidJson("The body must be a JSON object." if text.strip() else "The body is empty; a JSON object is needed.")
    pairs: list[tuple[str, Any]] = []
    spans: dict[str, tuple[int, int, int]] = {}
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        plain = _member.match(text, at)
        key, value_at = (plain[1], plain.end()) if plain else _key(text, at)
        value, end = _scan(text, value_at)
        pairs.append((key, value))
        spans[key] = (at, value_at, end)
        comma = _comma.match(text, end)
        at = comma.end() if comma else _skip(text, end)
        if comma and text[at : at + 1] != '"':
            raise InvalidJson(f"A member is expected at character {at}.")
        if not comma and text[at : at + 1] != "}":
            raise InvalidJson(f"A comma or a closing brace is expected at character {at}.")
    _check_end(text, at + 1)
    return Document(text, _no_duplicates(pairs), spans)


def items(text: str) -> list[str]:
    """Return the source texts of the items of a JSON array that is known to be well formed."""
    sources: list[str] = []
    at = _skip(text, _skip(text, 0) + 1)
    while text[at] != "]":
        _, end = _scan(text, at)
        sources.append(text[at:end])
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return sources


def strings(text: str) -> Iterator[StringToken]:
    """Yield every string of a well-formed JSON text, keys too, in the order they stand."""
    path: list[str | int] = []
    expect_key = False
    new_token = tuple.__new__  # a token as its own class makes it, in half the time
    for match in _token.finditer(text):
        token = match.group()
        first = token[0]
        if first == '"':
            value = scanstring(token, 1, True)[0]
            yield new_token(StringToken, (*match.span(), value, tuple(path), expect_key))
            if expect_key:
                path[-1] = value
                expect_key = False
        elif first == "{":
            path.append("")
            expect_key = True
        elif first == "[":
            path.append(0)
        elif first in "]}":
            path.pop()
            expect_key = False
        elif first == ",":
            last = path[-1]
            if isinstance(last, int):
                path[-1] = last + 1
            else:
                expect_key = True


def quote(value: str) -> str:
    """Return a string as a JSON token, readable, with what UTF-8 cannot carry escaped."""
    token = encode_basestring(value)
    return token if value.isascii() else _surrogate.sub(lambda m: f"\\u{ord(m.group()):04x}", token)


def dump(value: Any) -> str:
    """Return compact JSON of a value that `parse` gave or that is made of plain Python; `Number` keeps its spelling."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Number | Source):
        return value.text
    if isinstance(value, dict):
        return "{" + ",".join([f"{quote(k)}:{dump(v)}" for k, v in value.items()]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value, allow_nan=False)


def canonical(value: Any) -> str:
    """Return one spelling for all texts of an equal JSON value: sorted keys, no spaces, ASCII, numbers by value."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, Number):
        return _canonical_number(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{encode_basestring_ascii(k)}:{canonical(value[k])}" for k in sorted(value)]) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value)


def _canonical_number(number: Number) -> str:
    """Floats as the double they mean, so that a client which reads and writes JSON again sends the same; integers exactly,
    and a float that is one as that integer: JavaScript writes 1 for 1.0."""
    if number.text.lstrip("-").isdigit():
        return "0" if number.text == "-0" else number.text
    value = float(number.text)
    if value in (float("inf"), float("-inf")):
        return number.text
    return str(int(value)) if value.is_integer() else repr(value)


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] > " ":
        return at
    match = _space.match(text, at)
    return match.end() if match else at


def _key(text: str, at: int) -> tuple[str, int]:
    """Read `"key":` at `at`; return the key and where its value starts."""
    if text[at : at + 1] != '"':
        raise InvalidJson(f"A member's name in quotes is expected at character {at}.")
    try:
        key, at = scanstring(text, at + 1, True)
    except json.JSONDecodeError as error:
        raise InvalidJson(f"{error.msg} at character {error.pos}.") from None
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise InvalidJson(f"A colon is expected at character {at}.")
    return key, _skip(text, at + 1)


def _scan(text: str, at: int) -> tuple[Any, int]:
    try:
        return _scan_once(text, at)
    except StopIteration as stop:
        raise InvalidJson(f"A value is expected at character {stop.value}.") from None
    except json.JSONDecodeError as error:
        raise InvalidJson(f"{error.msg} at character {error.pos}.") from None


def _check_end(text: str, at: int) -> None:
    if _skip(text, at) != len(text):
        raise InvalidJson(f"Something follows the JSON value at character {at}.")


def _check_nesting(text: str) -> None:
    """Refuse nesting past NESTING_MAX before the scanner recurses into it. Cheap: few texts hold that many brackets."""
    if text.count("[") + text.count("{") <= NESTING_MAX:
        return
    depth = 0
    for match in _bracket_or_string.finditer(text):
        first = match.group()[0]
        if first in "[{":
            depth += 1
            if depth > NESTING_MAX:
                raise InvalidJson(f"Nested deeper than {NESTING_MAX}.")
        elif first in "]}":
            depth -= 1
