"""An export document's session, messages and parts, to and from the columns of OpenCode's tables.

The export leaves out what a column has no value for, so a document with no `cost` or `tokens` comes back with zeros: the columns
are never null. Times of parts stand in columns alone: they are those of their message.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from eventstore.errors import InvalidJson
from eventstore.wire import codec

Json = dict[str, Any]

# Column, and where the export has it.
TEXTS: Mapping[str, tuple[str, ...]] = {
    "id": ("id",),
    "slug": ("slug",),
    "project_id": ("projectID",),
    "workspace_id": ("workspaceID",),
    "directory": ("directory",),
    "path": ("path",),
    "parent_id": ("parentID",),
    "title": ("title",),
    "agent": ("agent",),
    "version": ("version",),
    "share_url": ("share", "url"),
}
NUMBERS: Mapping[str, tuple[str, ...]] = {
    "summary_additions": ("summary", "additions"),
    "summary_deletions": ("summary", "deletions"),
    "summary_files": ("summary", "files"),
    "cost": ("cost",),
    "tokens_input": ("tokens", "input"),
    "tokens_output": ("tokens", "output"),
    "tokens_reasoning": ("tokens", "reasoning"),
    "tokens_cache_read": ("tokens", "cache", "read"),
    "tokens_cache_write": ("tokens", "cache", "write"),
    "time_created": ("time", "created"),
    "time_updated": ("time", "updated"),
    "time_compacting": ("time", "compacting"),
    "time_archived": ("time", "archived"),
}
VALUES: Mapping[str, tuple[str, ...]] = {
    "model": ("model",),
    "summary_diffs": ("summary", "diffs"),
    "metadata": ("metadata",),
    "revert": ("revert",),
    "permission": ("permission",),
}
NEEDED = {"slug": "session", "project_id": "global", "directory": "/", "title": "Session", "version": "unknown"}
_INT_MAX = 2**63 - 1


def info_of_row(row: Json, problems: list[str]) -> Json:
    """Return a session's record as an export has it. A column that this was not made for is kept under `columns`."""
    info: Json = {}
    for columns, made in ((TEXTS, _text), (VALUES, _value), (NUMBERS, _number)):
        for column, path in columns.items():
            if row.get(column) is not None:
                _set(info, path, made(row[column], column, problems))
    more = {name: value for name, value in row.items() if value is not None and not _is_known(name)}
    return info | ({"columns": {name: _plain(value) for name, value in more.items()}} if more else {})


def session_row(document: Json, lost: list[str]) -> Json:
    """Return the columns of a document's session. What has no column is added to `lost`."""
    info = document.get("info")
    rest: Json = _copied(info) if isinstance(info, dict) else {}
    row: Json = {}
    for column, path in TEXTS.items():
        row[column] = _storable(_taken(rest, path), column, lost)
    for column, path in NUMBERS.items():
        row[column] = _counted(_taken(rest, path), column, lost)
    for column, path in VALUES.items():
        value = _taken(rest, path)
        row[column] = None if value is None else codec.dump(value)
    for column, value in NEEDED.items():
        row[column] = row[column] if row[column] is not None else value
    row["id"] = row["id"] or "ses_unknown"
    for column in ("time_created", "time_updated"):
        row[column] = row[column] or 0
    lost += [f"info.{name}: no column" for name in _left(rest)]
    lost += [f"{name}: no table" for name in document if name not in ("info", "messages", "todo")]
    return row


def project_row(session: Json) -> Json:
    directory = "/" if session["project_id"] == "global" else session["directory"]
    return {key: session[key] for key in ("project_id", "time_created", "time_updated")} | {"directory": directory}


def message_rows(document: Json, session: Json, lost: list[str]) -> Iterator[tuple[str, Json]]:
    """Yield each message and part that can stand in a row: `message` or `part`, and its columns."""
    messages = document.get("messages")
    ids: set[str] = set()
    for index, record in enumerate(messages if isinstance(messages, list) else ()):
        info = record.get("info") if isinstance(record, dict) else None
        parts = record.get("parts") if isinstance(record, dict) else None
        if not isinstance(info, dict) or not isinstance(parts, list) or not _is_new(info, ids):
            lost.append(f"messages[{index}]: it has no id of its own")
            continue
        lost += [f"messages[{index}].{name}: no column" for name in record if name not in ("info", "parts")]
        created = _int(info["time"].get("created")) if isinstance(info.get("time"), dict) else None
        times = {"time_created": created or 0, "time_updated": created or 0}
        owner = {"session_id": session["id"], **times}
        yield "message", {"id": info["id"], **owner, "data": _without(info, "id", "sessionID")}
        for place, part in enumerate(parts):
            if not isinstance(part, dict) or not _is_new(part, ids):
                lost.append(f"messages[{index}].parts[{place}]: it has no id of its own")
                continue
            data = _without(part, "id", "sessionID", "messageID")
            yield "part", {"id": part["id"], "message_id": info["id"], **owner, "data": data}


def todo_rows(document: Json, session: Json, lost: list[str]) -> Iterator[Json]:
    """Yield each thing to do that a row can hold."""
    todos = document.get("todo")
    for position, todo in enumerate(todos if isinstance(todos, list) else ()):
        told = todo if isinstance(todo, dict) else {}
        row = {key: told.get(key) for key in ("content", "status", "priority")}
        if not all(isinstance(value, str) and _is_storable(value) for value in row.values()):
            lost.append(f"todo[{position}]: not of a known shape")
            continue
        times = {"time_created": session["time_created"], "time_updated": session["time_updated"]}
        yield {**row, "session_id": session["id"], "position": position, **times}


def _is_new(record: Json, ids: set[str]) -> bool:
    name = record.get("id")
    if not isinstance(name, str) or not name or name in ids or not _is_storable(name):
        return False
    ids.add(name)
    return True


def _without(record: Json, *names: str) -> str:
    return codec.dump({key: value for key, value in record.items() if key not in names})


def _text(value: Any, column: str, problems: list[str]) -> Any:
    return value if isinstance(value, str) else _plain(value)


def _value(value: Any, column: str, problems: list[str]) -> Any:
    try:
        return codec.parse(value)
    except (InvalidJson, TypeError):
        problems.append(f"session.{column} is no JSON, and is kept as text")
        return _plain(value)


def _number(value: Any, column: str, problems: list[str]) -> Any:
    return _plain(value)


def _plain(value: Any) -> Any:
    """A column's value as JSON has it, numbers as JavaScript writes them."""
    if isinstance(value, int | float):
        return codec.Number(codec.canonical(codec.Number(repr(value))))
    return value if isinstance(value, str) else repr(value)


def _is_known(column: str) -> bool:
    return column in TEXTS or column in NUMBERS or column in VALUES


def _set(holder: Json, path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        holder = holder.setdefault(step, {})
    holder[path[-1]] = value


def _taken(holder: Json, path: tuple[str, ...]) -> Any:
    """Take a value out."""
    for step in path[:-1]:
        inner = holder.get(step)
        if not isinstance(inner, dict):
            return None
        holder = inner
    return holder.pop(path[-1], None)


def _left(holder: Json) -> list[str]:
    """What was not taken, but for what only held it."""
    return [name for name, value in holder.items() if not _is_empty(value) or name not in ("summary", "tokens", "time", "share")]


def _is_empty(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_empty, value.values()))


def _copied(value: Any) -> Any:
    return {key: _copied(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def _storable(value: Any, column: str, lost: list[str]) -> str | None:
    if value is None or (isinstance(value, str) and _is_storable(value)):
        return value
    lost.append(f"info: {column} cannot stand in a column as it is")
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _is_storable(text: str) -> bool:
    """Can SQLite hold it? Not a lone surrogate."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _counted(value: Any, column: str, lost: list[str]) -> int | float | None:
    if value is None:
        return None
    count = _int(value)
    if count is not None:
        return count
    if column == "cost" and isinstance(value, codec.Number | float):
        return float(str(value))
    lost.append(f"info: {column} cannot stand in a column as it is")
    return None


def _int(value: Any) -> int | None:
    text = str(value) if not isinstance(value, str | bool) else ""
    return int(text) if text.lstrip("-").isdigit() and len(text) < 19 and abs(int(text)) <= _INT_MAX else None
