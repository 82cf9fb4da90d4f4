"""Where Hermes keeps sessions: a SQLite database (state.db), and exports; to and from export objects, dead rows among them.

A database is read as it is at one moment, its -wal included, however Hermes writes meanwhile; it is never written to: an existing
store takes sessions through Hermes's own import. A new one is made beside its place and put there whole; Hermes adds its other
tables and its search when it opens it. What a container cannot hold is said, item by item.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.hermes.export import export_file
from adapters.hermes.records import AGENT, documents
from cli.containers_hermes_rows import column_values, document_of, session_of_row
from cli.containers_sqlite import ContainerInTheWay, Contents, UnreadableContainer, is_database, made, opened, put, rows, sql

Json = dict[str, Any]

DATABASE = "state.db"


class UnreadableStore(UnreadableContainer):
    """What was named holds no session of Hermes, or not the one asked for."""

    title = "No session of Hermes can be read there"


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as a container lists it; strings are empty where it does not say. `source`: what started it."""

    session_id: str
    parent_id: str
    title: str
    cwd: str
    source: str


def home_dir(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return Hermes's home: HERMES_HOME, else `.hermes` in the user's home, on Windows `hermes` in the local application data."""
    if environ.get("HERMES_HOME"):
        return Path(environ["HERMES_HOME"]).expanduser()
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "hermes"
    return Path(environ.get("HOME") or Path.home()) / ".hermes"


def stores_of(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[Path]:
    """Return the databases of this host: the home's, then each profile's."""
    home = home_dir(environ, platform)
    profiles = sorted(home.glob(f"profiles/*/{DATABASE}"))
    return [path for path in (home / DATABASE, *profiles) if path.is_file()]


def sessions_in(path: Path) -> list[Listed]:
    """Return the sessions of a database or an export; of a database the newest last. Raises UnreadableStore."""
    if not is_database(path):
        return [_listed(contents.document) for contents in read_exports(path)]
    with _opened(path) as database:
        return [_listed(session_of_row(row, [])) for row in _rows(database, "list_sessions")]


def read_container(path: Path, session_id: str = "") -> Contents:
    """Return one session; `session_id` may be empty where there is only one. Raises UnreadableStore."""
    if is_database(path):
        return read_database(path, session_id)
    found = [contents for contents in read_exports(path) if session_id in ("", contents.document.get("id"))]
    if len(found) != 1:
        raise UnreadableStore(_which(path, session_id, len(found)))
    return found[0]


def read_exports(path: Path) -> list[Contents]:
    """Return the sessions of an export. Raises UnreadableStore."""
    try:
        found = documents(path.read_bytes().splitlines(keepends=True))
    except OSError as error:
        raise UnreadableStore(f"{path} cannot be read: {error.strerror or 'no reason given'}.") from None
    read = [Contents(value) for value, _, _ in found if isinstance(value, dict)]
    problems = [
        f"line {number}: {problem or 'not an object'}" for number, (value, _, problem) in enumerate(found, 1) if value is None
    ]
    if not read:
        raise UnreadableStore(f"{path} is no export: {problems[0] if problems else 'it holds no session'}.")
    read[0].problems.extend(problems)
    return read


def read_database(path: Path, session_id: str = "") -> Contents:
    """Return one session of a database, as it is at this moment, its dead rows too. Raises UnreadableStore."""
    with _opened(path) as database:
        if not session_id:
            listed = _rows(database, "list_sessions")
            if len(listed) != 1:
                raise UnreadableStore(_which(path, "", len(listed)))
            session_id = listed[0]["id"]
        named = {"session_id": session_id}
        found = _rows(database, "read_session", named)
        if not found:
            raise UnreadableStore(_which(path, session_id, 0))
        problems: list[str] = []
        return Contents(document_of(found[0], _rows(database, "read_rows", named), problems), problems)


def read_on(
    path: Path, session_id: str, after_id: int, problems: list[str]
) -> tuple[Json, dict[int, Json], list[tuple[int, Any, Any]]]:
    """Return a session's columns, its rows with a larger number by their numbers, and number, `active` and `compacted` of all.

    Raises UnreadableStore.
    """
    with _opened(path) as database:
        named: Json = {"session_id": session_id}
        found = _rows(database, "read_session", named)
        if not found:
            raise UnreadableStore(_which(path, session_id, 0))
        rows = _rows(database, "rows_after", named | {"after_id": after_id})
        flags = [(row["id"], row["active"], row["compacted"]) for row in _rows(database, "row_flags", named)]
        exported = document_of(found[0], rows, problems)
        numbered = {row["id"]: made for row, made in zip(rows, exported.pop("messages"), strict=True)}
        return exported, numbered, flags


def flags_of(active: Any, compacted: Any) -> Json:
    """Return the two columns that tell whether a row is live, as an export has them."""
    return session_of_row({"active": active, "compacted": compacted}, [])


def write_container(path: Path, sessions: Sequence[Json]) -> list[str]:
    """Write sessions as what the name says: `.db` a fresh database, else an export. Returns what could not be written.

    Raises ContainerInTheWay.
    """
    if path.exists():
        raise ContainerInTheWay(f"{path} is there already; Hermes's own store is written by its import alone.")
    if path.suffix in (".db", ".sqlite"):
        return write_database(path, sessions)
    content, lost = export_file(sessions)
    put(path, content)
    return lost


def write_database(path: Path, sessions: Sequence[Json]) -> list[str]:
    """Write a fresh database. Returns what it cannot hold."""
    lost: list[str] = []
    try:
        with made(path) as database:
            database.executescript(sql(AGENT, "create_tables"))
            for session in sessions:
                columns, rows_of_session = column_values(session, lost)
                database.execute(sql(AGENT, "insert_session"), columns)
                database.executemany(sql(AGENT, "insert_row"), rows_of_session)
    except sqlite3.IntegrityError as error:
        raise ContainerInTheWay(f"{path} cannot hold these sessions together: {error}.") from None
    return lost


def _listed(document: Json) -> Listed:
    told = [document.get(name) for name in ("id", "parent_session_id", "title", "cwd", "source")]
    return Listed(*(value if isinstance(value, str) else "" for value in told))


def _which(path: Path, session_id: str, count: int) -> str:
    return f"{path} holds no session {session_id[:80]!a}." if session_id else f"{path} holds {count} sessions: name one."


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database to read, at one moment."""
    no_hermes = f"{path} is no database that Hermes wrote"
    with opened(path, AGENT, lambda why: UnreadableStore(f"{no_hermes}: {why}."), _text) as database:
        if not {"sessions", "messages"} <= {row["name"] for row in _rows(database, "table_names")}:
            raise UnreadableStore(f"{no_hermes}: it has no sessions, or no messages.")
        yield database


def _rows(database: sqlite3.Connection, query: str, values: Mapping[str, Any] | None = None) -> list[Json]:
    return rows(database, AGENT, query, values)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
