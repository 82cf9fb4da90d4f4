"""Tables that say which fields of a message an agent's records have a place for, and what becomes of a leaf by them.

A table names a field as a message has it, `tool_calls[].function.name`, and beside it the place in the record, or why the field
stays behind. What no table names has no place, and is reported.
"""

from collections.abc import Callable, Mapping
from typing import Any

from adapters.conversion import Json
from adapters.fates_out import NO_PLACE, SEALED, Notes, is_nothing, is_sealed, kind_of
from adapters.leaves import CONVERTED, Fate, Path, nearest, path_of, steps_of

Table = Mapping[str, str]

WHOSE = Fate("kept_native", "about where the thinking came from")
_EMPTY = frozenset({"content", "tool_calls", "metadata", "tool_call_id"})  # nothing in them is nothing to write


class Tables:
    """An agent's tables: `written` of every message, `of_kind` of one kind alone, `parts` of a content's part, by its type.

    `thinking` tells what becomes of a leaf of thinking; `told` what a record says by what it is, None where the tables tell.
    """

    def __init__(
        self,
        written: Table,
        parts: Mapping[str, Table],
        of_kind: Mapping[str, Table],
        stays: Table,
        thinking: Callable[[Json, Path, Any], Fate],
        told: Callable[[Json, Path, Any], Fate | None],
    ) -> None:
        self._written = frozenset(map(path_of, written))
        self._parts = {kind: {("type",), *map(path_of, table)} for kind, table in parts.items()}
        self._of_kind = {kind: self._written.union(map(path_of, table)) for kind, table in of_kind.items()}
        self._stays = {path_of(name): Fate("kept_native", reason) for name, reason in stays.items()}
        self._thinking, self._told = thinking, told

    def fate_of(self, message: Json, notes: Notes) -> Callable[[Path, Any], Fate]:
        """Return the function that tells what becomes of a leaf of this message. `notes` come before the tables."""
        written = self._of_kind.get(kind_of(message), self._written)

        def fate(path: Path, value: Any) -> Fate:
            noted = nearest(notes, path)
            if noted is not None:
                return noted
            if path[0] == "thinking":
                return self._thinking(message, path, value)
            if path[0] == "content" and len(path) > 1:
                part = message["content"][path[1]]
                return CONVERTED if path[2:] in self._parts.get(str(part.get("type")), ()) else NO_PLACE
            steps = steps_of(path)
            if steps in written or (path[0] in _EMPTY and value in (None, {}, [])):
                return CONVERTED
            return self._told(message, path, value) or nearest(self._stays, steps) or NO_PLACE

        return fate


def of_thinking(message: Json, path: Path, value: Any, *, is_written: bool, said: Fate = CONVERTED) -> Fate:
    """What becomes of a leaf of thinking with an agent that takes what nobody sealed. `said`: what it makes of the texts."""
    if is_nothing(value):
        return CONVERTED
    if not is_written:
        return NO_PLACE
    thinking = message["thinking"]
    items = thinking.get("items") if isinstance(thinking, dict) else None
    items = items if isinstance(items, list) else []
    match path:
        case (_, "items", int(index), *_) if is_sealed(items[index]):
            return SEALED
        case (_, "items", int(), "text"):
            return said
        case (_, "items", int(), "provider" | "model" | "id"):
            return WHOSE
        case (_, "content"):
            return SEALED if any(map(is_sealed, items)) or thinking.get("encrypted") is True else said
        case (_, "encrypted"):
            return SEALED if value is True else CONVERTED
    return NO_PLACE
