"""A session under another id. OpenCode's ids name a record in the whole database, so all of its messages and parts get new ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.conversion import Json
from adapters.opencode.ids import name
from adapters.opencode.records import info_of, parts_of
from adapters.values import text_of

_TIME_CHARS = len("msg_") + 12


def renamed(document: Json, records: Sequence[Any], old: str, new: str) -> tuple[Json, list[Any]]:
    """Return document and messages with new ids, wherever a key says that an id stands there. The same on every run."""
    names = {old: new}
    for record in records:
        for holder in (info_of(record), *parts_of(record)):
            if found := text_of(holder, "id"):
                names[found] = found[:_TIME_CHARS] + name(f"{new}:{found}")
    return _walk(document, names), [_walk(record, names) for record in records]


def _walk(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(key, inner, names) for key, inner in value.items()}
    return [_walk(item, names) for item in value] if isinstance(value, list) else value


def _renamed(key: str, value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value) if key == "id" or key.endswith(("ID", "_id")) else value
    return value if key in ("input", "output") else _walk(value, names)
