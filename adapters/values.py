"""What a value of a record is, if it is that at all: records hold anything."""

from typing import Any

from adapters.conversion import Json
from eventstore.wire.codec import Number


def text_of(value: Any, key: str) -> str:
    """Return the text of an object's field, "" where there is none."""
    text = value.get(key) if isinstance(value, dict) else None
    return text if isinstance(text, str) else ""


def object_of(value: Any, key: str) -> Json:
    """Return the object of an object's field, an empty one where there is none."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def int_of(value: Any) -> int | None:
    """Return a whole number, as it comes from a file, from the hub or straight from a reader; None for anything else."""
    if isinstance(value, Number):
        return value.as_int()
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def depth_of(value: Any) -> int:
    """Return how deep a value is nested: 0 for a scalar."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)
