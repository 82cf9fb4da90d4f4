"""Say a thing once: what a message already says is taken out of its native record, and laid back in on the way home.

`native.said` lists what was taken: `[place in the record, place in the message]`, or with a third item for how it is
spelled there: `json` (the record holds the value, the message its text), `data` (the record holds what follows the
comma of a data URL). Only what comes back equal is taken, and only what is long enough to be worth it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from adapters.conversion import Json
from eventstore.wire import codec

Path = tuple[str | int, ...]
How = Literal["", "json", "data"]

TAKEN_CHARS_MIN = 64


@dataclass(frozen=True, slots=True)
class Copy:
    """A value that stands in the record and, spelled `how`, in the message."""

    record: Path
    message: Path
    how: How = ""


def lift(record: Json, message: Json, copies: Sequence[Copy]) -> tuple[Json, list[list[Any]]]:
    """Return the record without what the message says, and the list for `native.said`."""
    said: list[list[Any]] = []
    for copy in copies:
        text = _take(message, copy.message)
        if not isinstance(text, str) or len(text) < TAKEN_CHARS_MIN or _spelled(text, copy.how) != _take(record, copy.record):
            continue
        record = _put(record, copy.record, None)
        said.append([list(copy.record), list(copy.message), *([copy.how] if copy.how else [])])
    return record, said


def lay(record: Json, message: Json, said: Sequence[Sequence[Any]]) -> Json:
    """Return the record with what `lift` took laid back in.

    Raises KeyError, IndexError, TypeError when the message has lost what the list names, InvalidJson when its JSON was
    broken.
    """
    for place, source, *how in said:
        record = _put(record, _path(place), _spelled(_take(message, _path(source)), how[0] if how else ""))
    return record


def _path(steps: Sequence[Any]) -> Path:
    """Return a path as it comes back from the hub: indexes are numbers as they were written."""
    return tuple(int(step.text) if isinstance(step, codec.Number) else step for step in steps)


def _spelled(text: str, how: How) -> Any:
    if how == "json":
        return codec.parse(text)
    return text.partition(",")[2] if how == "data" else text


def _take(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _put(value: Any, path: Path, new: Any) -> Any:
    """Return the value with one place changed; containers on the way are copied, the original stays."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[step] = _put(value[step], rest, new)
    return copied
