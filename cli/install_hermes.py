"""Hermes's store: `state.db` in its home. Rows go in as they are, dead ones too, which its own import does not do.

A row keeps its number where no other session has it; else the rows of the session get new ones, in their order. A title stands once
in a store: where it is taken, a number is added, as Hermes does.
"""

import re
import sqlite3
from pathlib import Path
from typing import Any

from adapters.conversion import Conversion
from adapters.hermes.reader import read_document
from adapters.hermes.records import AGENT
from adapters.written import Written
from cli.containers_hermes import read_database
from cli.containers_hermes_rows import column_values
from cli.containers_sqlite import sql
from cli.install_sqlite import DatabaseStore
from cli.install_store import Json
from eventstore.wire.codec import dump

_numbered = re.compile(r" #\d{1,9}$")


class HermesStore(DatabaseStore):
    """The database of a home."""

    agent = AGENT
    tables = ("sessions", "messages")
    schema = ("create_tables",)
    not_compared = frozenset({("messages", "id")})

    def content(self, database: sqlite3.Connection, written: Written, lost: list[str], notes: list[str]) -> Any:
        sessions: list[tuple[Json, list[Json]]] = []
        names = [one.session_id for one in (written, *written.subagents)]
        for one in (written, *written.subagents):
            columns, rows = column_values(one.records[0], lost)
            title = _free_title(database, columns)
            if title != columns["title"]:
                notes.append(f"session {columns['id']}: title: another session has it, {title!a} is written")
            parent = columns["parent_session_id"]
            if parent and parent not in names and not _has_session(database, parent):
                lost.append(f"session {columns['id']}: parent_session_id: {parent!a} is not in this store")
                parent = None
            sessions.append((columns | {"title": title, "parent_session_id": parent}, rows))
        return _with_numbers(database, sessions)

    def insert(self, database: sqlite3.Connection, content: Any) -> None:
        for columns, rows in content:
            database.execute(sql(AGENT, "insert_session"), columns)
            database.executemany(sql(AGENT, "insert_row"), rows)

    def read(self, path: Path, session_id: str) -> Conversion:
        return read_document(read_database(path, session_id).document)


def _has_session(database: sqlite3.Connection, session_id: str) -> bool:
    return database.execute(sql(AGENT, "read_session"), {"session_id": session_id}).fetchone() is not None


def _with_numbers(database: sqlite3.Connection, sessions: list[tuple[Json, list[Json]]]) -> list[tuple[Json, list[Json]]]:
    """The sessions, their rows with numbers that no other row has."""
    ids = [row["id"] for _, rows in sessions for row in rows]
    is_once = all(isinstance(number, int) for number in ids) and len(set(ids)) == len(ids)
    are_rising = all([row["id"] for row in rows] == sorted(row["id"] for row in rows) for _, rows in sessions) if is_once else False
    named = {"ids": dump(ids), "session_ids": dump([columns["id"] for columns, _ in sessions])}
    if are_rising and not database.execute(sql(AGENT, "taken_row_ids"), named).fetchone():
        return sessions
    return [(columns, [row | {"id": None} for row in rows]) for columns, rows in sessions]


def _free_title(database: sqlite3.Connection, columns: Json) -> str | None:
    title: str | None = columns["title"]
    if not title:
        return title
    base, number = _numbered.sub("", title), 1
    while database.execute(sql(AGENT, "has_title"), {"title": title, "session_id": columns["id"]}).fetchone():
        number += 1
        title = f"{base} #{number}"
    return title
