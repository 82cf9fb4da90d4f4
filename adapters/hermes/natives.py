"""What is no message, for `native.recorded`, so that the way home has everything.

1. `{key, row}`: a row that is not live (compacted, rewound, of a role that is none of the model's).
2. `{session, columns, order}`: the session's columns; the columns of its rows; and in order, each row's key with what may
   change of it (`MUTABLE`), where that is not what it mostly is.

A follower leaves out the last batch, and the session, until it rests.
"""

from collections.abc import Sequence
from typing import Any

from adapters.conversion import Json
from adapters.hermes.records import MUTABLE, as_kept, rows_of


def session_record(document: Json, keys: Sequence[str]) -> Json:
    """What the rows' records do not say of a session."""
    rows = rows_of(document)
    columns = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))
    order = [_place(key, row, columns, document.get("id")) for key, row in zip(keys, rows, strict=True)]
    rest = {name: value for name, value in document.items() if name != "messages" or not isinstance(value, list)}
    record = {"session": as_kept(rest), "columns": columns, "order": order}
    return record | ({} if isinstance(document.get("messages"), list) else {"no_messages": True})


def with_place(kept: Any, place: Json, columns: Sequence[str], session_id: Any) -> Any:
    """The row, of what lasts of it and its place in the order."""
    if not isinstance(kept, dict):
        return kept
    absent = set(place.get("absent", ()))
    mutable = MUTABLE | {"session_id": session_id} | {name: place[name] for name in MUTABLE if name in place}
    whole = {name: mutable.get(name) for name in columns if name not in absent}
    return whole | {name: value for name, value in kept.items() if name not in MUTABLE}


def _place(key: str, row: Any, columns: Sequence[str], session_id: Any) -> Json:
    place: Json = {"key": key}
    if not isinstance(row, dict):
        return place
    mostly = MUTABLE | {"session_id": session_id}
    place |= {name: row[name] for name in MUTABLE if name in row and row[name] != mostly[name]}
    absent = [name for name in columns if name not in row]
    return place | ({"absent": absent} if absent else {})
