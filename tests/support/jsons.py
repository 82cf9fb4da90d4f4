"""JSON for Hypothesis: any value that JSON can say, and any spelling of one value."""

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

SPACES = ("", "", "", " ", "\n", "\t \r\n")
SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
EXACT_IN_A_DOUBLE = 2**53


def joined(text: str) -> str:
    """The text with each pair of surrogates as the one character that JSON takes it for; lone ones stay."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


texts = st.text(st.characters(), max_size=12).map(joined)  # lone surrogates and NUL among them
numbers = st.integers() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=15)
objects = st.dictionaries(texts, values, max_size=6)
randoms = st.randoms(use_true_random=False)


def spelled(value: Any, random: Random) -> str:
    """One of the many texts that mean this value: order, spaces, escapes and the form of numbers are drawn."""
    if isinstance(value, str):
        return spelled_string(value, random)
    if isinstance(value, bool | None):
        return json.dumps(value)
    if isinstance(value, int | float):
        return spelled_number(value, random)
    space = [random.choice(SPACES) for _ in range(4)]
    if isinstance(value, list):
        return f"[{space[0]}{f'{space[1]},{space[2]}'.join(spelled(item, random) for item in value)}{space[3]}]"
    names = list(value)
    random.shuffle(names)
    members = (f"{spelled_string(name, random)}{space[0]}:{space[1]}{spelled(value[name], random)}" for name in names)
    return f"{{{space[2]}{f'{space[3]},{space[0]}'.join(members)}{space[1]}}}"


def spelled_string(value: str, random: Random) -> str:
    return f'"{"".join(spelled_character(char, random) for char in value)}"'


def spelled_character(char: str, random: Random) -> str:
    way = random.choice(("raw", "short", "escape"))
    if way == "raw" and char >= " " and char not in '"\\' and not "\ud800" <= char <= "\udfff":
        return char
    if way != "escape" and char in SHORT_ESCAPES:
        return SHORT_ESCAPES[char]
    units = char.encode("utf-16-be", "surrogatepass")
    form = random.choice(("04x", "04X"))
    return "".join(f"\\u{int.from_bytes(units[at : at + 2], 'big'):{form}}" for at in range(0, len(units), 2))


def spelled_number(value: float, random: Random) -> str:
    if isinstance(value, int):
        forms = [str(value)]
        if abs(value) <= EXACT_IN_A_DOUBLE:
            forms += [f"{value}.0", f"{value}.000e+0", f"{value}e00", f"{value}0E-1" if value else "-0"]
    else:
        forms = [repr(value), f"{value:.17e}", f"{value:.20E}"]
    return random.choice(forms)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: numbers by value, but true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
