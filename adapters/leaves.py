"""Every leaf of a message has a fate: converted, or reported. A leaf is a scalar, or a list or object with nothing in it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

from adapters.conversion import Json
from adapters.report import Report

Path = tuple[str | int, ...]
Told = TypeVar("Told")

DEPTH_MAX = 6  # a path in a report goes no deeper, and no name in it is longer
NAME_CHARS_MAX = 60


class Fate(NamedTuple):
    """What becomes of a leaf; `reason` is empty when it is converted."""

    kind: Literal["converted", "degraded", "kept_native", "dropped"]
    reason: str = ""


CONVERTED = Fate("converted")


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every leaf with the keys and indexes that lead to it, in the order they stand."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list | tuple) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def path_of(name: str) -> Path:
    """Return the path that a table names, `tool_calls[].id`; a step into a list is `[]`."""
    return tuple(name.replace("[]", ".[]").split("."))


def steps_of(path: Path) -> Path:
    """Return a path as `path_of` has it: whatever the place in a list is."""
    return tuple("[]" if isinstance(step, int) else step for step in path)


def nearest(told: Mapping[Path, Told], path: Path) -> Told | None:
    """Return what is told of the longest beginning of a path."""
    return next((told[path[:depth]] for depth in range(len(path), 0, -1) if path[:depth] in told), None)


def path_name(path: Path) -> str:
    """How a report spells a path: `tool_calls[].function.name`."""
    shown = "".join("[]" if isinstance(step, int) else f".{step[:NAME_CHARS_MAX]}" for step in path[:DEPTH_MAX])
    return shown.removeprefix(".") + ("…" if len(path) > DEPTH_MAX else "")


def account(report: Report, message: Json, fate_of: Callable[[Path, Any], Fate], example: str) -> None:
    """Count every leaf of a message under `fields/<role>.<path>`."""
    for path, value in leaves(message):
        report.found("fields")
        fate = fate_of(path, value)
        if fate.kind == "converted":
            report.converted("fields")
        else:
            report.note(fate.kind, f"fields/{message['role']}.{path_name(path)}", fate.reason, example)
