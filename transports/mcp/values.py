"""Values: JSON as it can be carried over MCP. The SDK's JSON has no lone surrogates, and its floats are doubles.

What had to be replaced is said in the result; REST and the resource of a message have it exactly.
"""

import json
import re
import sys
from decimal import Decimal
from typing import Any

NOTE = (
    "Something in here cannot be carried over MCP and was replaced: lone surrogates by U+FFFD, numbers that no double holds by the"
    " nearest one. The message's resource and REST have it exactly."
)
_INTEGER_CHARS_MAX = 300
_lone_surrogate = re.compile("[\ud800-\udfff]")


class Nearly(float):
    """The nearest double to a number that none holds."""


def decode(source: str) -> Any:
    """Return the value of a hub's JSON; numbers that no double holds are `Nearly`."""
    return json.loads(source, parse_float=_float, parse_int=_integer)


def encode(value: Any) -> str:
    """Return compact JSON, readable in every script; a lone surrogate is its escape."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else _lone_surrogate.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def carried(value: Any) -> tuple[Any, bool]:
    """Return the value as it can be carried, and whether something in it had to be replaced."""
    if isinstance(value, str):
        clean, count = (value, 0) if value.isascii() else _lone_surrogate.subn("\ufffd", value)
        return clean, count > 0
    if isinstance(value, Nearly):
        return float(value), True
    if isinstance(value, dict):
        pairs = [(carried(key), carried(item)) for key, item in value.items()]
        return {key[0]: item[0] for key, item in pairs}, any(key[1] or item[1] for key, item in pairs)
    if isinstance(value, list):
        items = [carried(item) for item in value]
        return [item[0] for item in items], any(item[1] for item in items)
    return value, False


def _float(text: str) -> float:
    number = float(text)
    if abs(number) > sys.float_info.max:
        return Nearly(sys.float_info.max if number > 0 else -sys.float_info.max)
    return number if Decimal(text) == Decimal(repr(number)) else Nearly(number)


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _INTEGER_CHARS_MAX else _float(text)
