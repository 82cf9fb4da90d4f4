"""Where OpenCode keeps sessions: a SQLite database, the JSON tree of versions before 1.2, exports; to and from export documents.

A database is read as it is at one moment, its -wal included, however OpenCode writes meanwhile; it is never written to. A new one
is made beside its place and put there whole. What a container cannot hold is said, item by item.
"""

import os
import sqlite3
from collections.abc import Mapping, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.opencode.records import AGENT
from cli.containers_opencode_rows import info_of_row, message_rows, project_row, session_row, todo_rows
from cli.containers_opencode_tree import list_tree, read_tree, tree_of, write_tree
from cli.containers_sqlite import ContainerInTheWay, Contents, UnreadableContainer, is_database, made, opened, put, rows, sql
from eventstore.errors import InvalidJson
from eventstore.wire import codec

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as a container lists it; strings are empty where it does not say."""

    session_id: str
    parent_id: str
    title: str
    directory: str
    updated_ms: int


def data_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where OpenCode keeps its data: XDG_DATA_HOME, else `.local/share` in the user's home, on every platform."""
    base = environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base).expanduser() / "opencode"


def store_of(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the database of this host, else its tree, else None. Where there are both, OpenCode reads the database."""
    folder = data_dir(environ)
    database = folder / (environ.get("OPENCODE_DB") or "opencode.db")
    if database.is_file():
        return database
    return folder if tree_of(folder) else None


def is_tree(path: Path) -> bool:
    """Is it a folder with sessions of versions before 1.2?"""
    return path.is_dir() and tree_of(path) is not None


def sessions_in(path: Path) -> list[Listed]:
    """Return the sessions of a database, a tree or an export, the newest last. Raises UnreadableContainer."""
    if path.is_dir():
        return [Listed(*listed) for listed in list_tree(_tree(path))]
    if not is_database(path):
        info = read_export(path).document.get("info")
        told = info if isinstance(info, dict) else {}
        return [_listed(told, ("id", "parentID", "title", "directory"), 0)]
    with _opened(path) as database:
        names = ("id", "parent_id", "title", "directory")
        return [_listed(row, names, row["time_updated"]) for row in _rows(database, "list_sessions")]


def read_container(path: Path, session_id: str = "") -> Contents:
    """Return one session; `session_id` may be empty where there is only one. Raises UnreadableContainer."""
    if not path.is_dir() and not is_database(path):
        return read_export(path)
    if not session_id:
        listed = sessions_in(path)
        if len(listed) != 1:
            raise UnreadableContainer(f"{path} holds {len(listed)} sessions: name one.")
        session_id = listed[0].session_id
    if path.is_dir():
        found = read_tree(_tree(path), session_id)
        if found is None:
            raise UnreadableContainer(f"{path} holds no session {session_id[:80]!a}.")
        return Contents(*found)
    return read_database(path, session_id)


def read_export(path: Path) -> Contents:
    """Return an export as it is. Raises UnreadableContainer."""
    try:
        document = codec.parse(codec.decode_text(path.read_bytes().removeprefix(b"\xef\xbb\xbf")))
    except OSError as error:
        raise UnreadableContainer(f"{path} cannot be read: {error.strerror or 'no reason given'}.") from None
    except InvalidJson as error:
        raise UnreadableContainer(f"{path} is no export: {error.detail}") from None
    if not isinstance(document, dict):
        raise UnreadableContainer(f"{path} is no export: it holds no JSON object.")
    return Contents(document)


def read_database(path: Path, session_id: str) -> Contents:
    """Return one session of a database, as it is at this moment. Raises UnreadableContainer."""
    with _opened(path) as database:
        named = {"session_id": session_id}
        tables = {row["name"] for row in _rows(database, "table_names")}
        found = _rows(database, "read_session", named)
        if not found:
            raise UnreadableContainer(f"{path} holds no session {session_id[:80]!a}.")
        problems: list[str] = []
        parts: dict[str, list[Any]] = {}
        for row in _rows(database, "read_parts", named):
            owner = {"id": row["id"], "sessionID": session_id, "messageID": row["message_id"]}
            parts.setdefault(row["message_id"], []).append(_data(row, owner, problems))
        messages = [
            {"info": _data(row, {"id": row["id"], "sessionID": session_id}, problems), "parts": parts.get(row["id"], [])}
            for row in _rows(database, "read_messages", named)
        ]
        document: Json = {"info": info_of_row(found[0], problems), "messages": messages}
        todos = _rows(database, "read_todos", named) if "todo" in tables else []
        return Contents(document | ({"todo": todos} if todos else {}), problems)


@dataclass(frozen=True, slots=True)
class Changes:
    """What of a session changed: messages by id, each with its time; parts by id, each with its message's; ids that are gone."""

    state: Json
    rest: Json  # `info`, `todo`
    messages: dict[str, tuple[int, Json]]
    parts: dict[str, tuple[str, Json]]
    gone: frozenset[str]
    problems: list[str]


def read_changes(path: Path, session_id: str, before: Json, known: Set[str]) -> Changes | None:
    """Return what of a session of a database changed since its state was `before` ({}: all), None for nothing.

    `known`: the ids that were read before. Raises UnreadableContainer.
    """
    with _opened(path) as database:
        named: Json = {"session_id": session_id}
        found = _rows(database, "session_state", named)
        if not found:
            raise UnreadableContainer(f"{path} holds no session {session_id[:80]!a}.")
        state, problems = found[0], list[str]()
        if state == before:
            return None
        messages = {
            row["id"]: (row["time_created"], _data(row, {"id": row["id"], "sessionID": session_id}, problems))
            for row in _rows(database, "changed_messages", named | {"since_ms": before.get("messages_ms") or 0})
        }
        parts = {}
        for row in _rows(database, "changed_parts", named | {"since_ms": before.get("parts_ms") or 0}):
            owner = {"id": row["id"], "sessionID": session_id, "messageID": row["message_id"]}
            parts[row["id"]] = (row["message_id"], _data(row, owner, problems))
        gone: frozenset[str] = frozenset()
        if state["messages"] + state["parts"] != len({*known, *messages, *parts}):
            gone = frozenset(known) - {row["id"] for row in _rows(database, "record_ids", named)}
        tables = {row["name"] for row in _rows(database, "table_names")}
        todos = _rows(database, "read_todos", named) if "todo" in tables else []
        info = info_of_row(_rows(database, "read_session", named)[0], problems)
        return Changes(state, {"info": info, "todo": todos}, messages, parts, gone, problems)


def write_container(path: Path, document: Json) -> list[str]:
    """Write one session as what the name says: `.db` a fresh database, no suffix a JSON tree, else an export.

    Returns what could not be written. Raises ContainerInTheWay.
    """
    if path.exists():
        raise ContainerInTheWay(f"{path} is there already; OpenCode's own store is written by `opencode import` alone.")
    if path.suffix in (".db", ".sqlite"):
        return write_database(path, document)
    if not path.suffix:
        return write_tree(path, document)
    put(path, codec.dump(document).encode("utf-8"))
    return []


def write_database(path: Path, document: Json) -> list[str]:
    """Write a fresh database with one session in it. Returns what it cannot hold."""
    lost: list[str] = []
    session = session_row(document, lost)
    with made(path) as database:
        database.executescript(sql(AGENT, "create_tables"))
        database.executescript(sql(AGENT, "create_other_tables"))
        database.execute(sql(AGENT, "insert_project"), project_row(session))
        database.execute(sql(AGENT, "insert_session"), session)
        for table, row in message_rows(document, session, lost):
            database.execute(sql(AGENT, f"insert_{table}"), row)
        for row in todo_rows(document, session, lost):
            database.execute(sql(AGENT, "insert_todo"), row)
    return lost


def _listed(told: Json, names: tuple[str, str, str, str], updated_ms: int) -> Listed:
    session_id, parent_id, title, directory = (str(told.get(name) or "") for name in names)
    return Listed(session_id, parent_id, title, directory, updated_ms)


def _opened(path: Path) -> AbstractContextManager[sqlite3.Connection]:
    return opened(path, AGENT, lambda why: UnreadableContainer(f"{path} is no database that OpenCode 1.x wrote: {why}."))


def _rows(database: sqlite3.Connection, query: str, values: Mapping[str, Any] | None = None) -> list[Json]:
    return rows(database, AGENT, query, values)


def _data(row: Json, owner: Json, problems: list[str]) -> Json:
    """The record of a message or part: its data, with the ids that stand in columns."""
    try:
        data = codec.parse(row["data"])
    except InvalidJson as error:
        data, detail = {"raw": row["data"]}, error.detail
        problems.append(f"{row['id']}: its data is no JSON, and is kept as text: {detail}")
    return (data if isinstance(data, dict) else {"raw": data}) | owner


def _tree(path: Path) -> Path:
    found = tree_of(path)
    if found is None:
        raise UnreadableContainer(f"{path} is no folder of OpenCode's: it holds no storage/session.")
    return found
