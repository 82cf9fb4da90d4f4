"""Say a thing once: what a message already says is taken out of its native record, and laid back in on the way home.

`native.said` lists what was taken: `[place in the record, place in the message]`, or with a third item for how it is
spelled there: `json` (the record holds the value, the message its text), `data` (the record holds what follows the
comma of a data URL). Only what comes back equal is taken, and only what is long enough to be worth it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from adapters.conversion import Json
from adapters.leaves import Path
from eventstore.wire import codec

Unsaid = dict[Path, str]  # a place in the record that the message has no place for, and why
How = Literal["", "json", "data"]

TAKEN_CHARS_MIN = 64


@dataclass(frozen=True, slots=True)
class Copy:
    """A value that stands in the record and, spelled `how`, in the message."""

    record: Path
    message: Path
    how: How = ""


@dataclass(slots=True)
class Said:
    """What the pieces of one message became. `made_up` are places where the record held no usable value."""

    content: str | list[Json] | None = None
    copies: list[Copy] = field(default_factory=list)
    tool_calls: list[Json] = field(default_factory=list)
    thinking: list[Json] = field(default_factory=list)
    made_up: list[Path] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)  # 0 thinking, 1 shown, 2 call: as they came

    @property
    def is_reordered(self) -> bool:
        """Do the kinds stand in another order than the message's fields have them?"""
        return self.kinds != sorted(self.kinds)


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
