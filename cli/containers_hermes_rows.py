"""An export object's columns and rows, to and from the values of Hermes's tables: what its own export and import do, and no less.

A content that is no string stands in the database behind a mark (`\\0json:`); calls stand there as JSON text. Both are spelled as
Python's `json` spells them, as Hermes does.
"""

import json
import math
import re
from base64 import b64encode
from typing import Any

from adapters.hermes.records import ROW_COLUMNS, SENTINEL, SESSION_COLUMNS
from eventstore.errors import InvalidJson
from eventstore.wire import codec

Json = dict[str, Any]

# What a column must not be without, where an export has nothing for it.
NEEDED_OF_SESSION: Json = {
    "source": "import",
    "started_at": 0.0,
    "compression_fallback_streak": 0,
    "rewind_count": 0,
    "archived": 0,
}
NEEDED_OF_ROW: Json = {"role": "unknown", "timestamp": 0.0, "active": 1, "compacted": 0}
_INT_MAX = 2**63 - 1
_surrogate = re.compile("[\ud800-\udfff]")


def document_of(session: Json, rows: list[Json], problems: list[str]) -> Json:
    """Return the export object of a session and its rows, given as the database has them."""
    return session_of_row(session, problems) | {"messages": [_exported(row, problems) for row in rows]}


def session_of_row(row: Json, problems: list[str]) -> Json:
    return {name: _plain(value, f"session {row.get('id')}: {name}", problems) for name, value in row.items()}


def column_values(document: Json, lost: list[str]) -> tuple[Json, list[Json]]:
    """Return a session's columns and its rows', as the database takes them. What has no column is added to `lost`."""
    session_id = document.get("id")
    columns = {name: value for name, value in document.items() if name != "messages"}
    session = _stored(columns, SESSION_COLUMNS, NEEDED_OF_SESSION, f"session {session_id}", lost)
    rows = document.get("messages")
    stored = []
    for place, row in enumerate(rows if isinstance(rows, list) else [], 1):
        if not isinstance(row, dict):
            lost.append(f"row {place}: not an object")
            continue
        encoded = row | {"session_id": session["id"]}
        for name in ("content", "tool_calls"):
            if isinstance(row.get(name), list | dict):
                encoded[name] = (SENTINEL if name == "content" else "") + _spelled(row[name])
        stored.append(_stored(encoded, ROW_COLUMNS, NEEDED_OF_ROW, f"row {place}", lost))
    return session, stored


def _exported(row: Json, problems: list[str]) -> Json:
    exported = {name: _plain(value, f"row {row.get('id')}: {name}", problems) for name, value in row.items()}
    content, calls = exported.get("content"), exported.get("tool_calls")
    if isinstance(content, str) and content.startswith(SENTINEL):
        exported["content"] = _parsed(content, content.removeprefix(SENTINEL), f"row {row.get('id')}: content", problems)
    if isinstance(calls, str) and calls:
        exported["tool_calls"] = _parsed(calls, calls, f"row {row.get('id')}: tool_calls", problems)
    return exported


def _parsed(kept: str, text: str, where: str, problems: list[str]) -> Any:
    try:
        return codec.parse(text)
    except InvalidJson as error:
        problems.append(f"{where} is no JSON, and is kept as text: {error.detail}")
        return kept


def _plain(value: Any, where: str, problems: list[str]) -> Any:
    """A value of the database as one of JSON."""
    if isinstance(value, bytes):
        problems.append(f"{where} is no text, and is kept as base64")
        return b64encode(value).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        problems.append(f"{where} is no number that JSON can say")
        return None
    return codec.Number(repr(value)) if isinstance(value, int | float) else value


def _stored(values: Json, columns: list[str], needed: Json, where: str, lost: list[str]) -> Json:
    lost += (f"{where}: {name}: no column for it" for name in values if name not in columns)
    stored = {name: _storable(values.get(name), f"{where}: {name}", lost) for name in columns}
    return stored | {name: value for name, value in needed.items() if stored[name] is None}


def _storable(value: Any, where: str, lost: list[str]) -> Any:
    if isinstance(value, str):
        if _surrogate.search(value):
            lost.append(f"{where}: half a surrogate pair; U+FFFD stands for it")
        return _surrogate.sub("\ufffd", value)
    if isinstance(value, codec.Number):
        whole = value.as_int()
        return whole if whole is not None else _float(value, where, lost)
    if isinstance(value, list | tuple | dict):
        lost.append(f"{where}: a value where the column holds text; written as JSON")
        return _spelled(value)
    if isinstance(value, int) and abs(value) > _INT_MAX:
        return float(value)
    return int(value) if isinstance(value, bool) else value


def _float(value: codec.Number, where: str, lost: list[str]) -> float | None:
    number = float(value.text)
    if not math.isfinite(number):
        lost.append(f"{where}: larger than any number of the database")
        return None
    return number


def _spelled(value: Any) -> str:
    """JSON as Python's `json` spells it."""
    if isinstance(value, codec.Number):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {_spelled(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    return json.dumps(value)
