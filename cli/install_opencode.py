"""OpenCode's store: its database, with the session in the project that OpenCode has for the working directory.

The project is told as OpenCode itself tells it: by the name that it keeps in the repository, else by its first commit; a folder
that is under no version control belongs to the project `global`.
"""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adapters.conversion import Conversion
from adapters.opencode.reader import read_document
from adapters.opencode.records import AGENT
from adapters.written import Written
from cli.containers_opencode import read_database
from cli.containers_opencode_rows import message_rows, session_row, todo_rows
from cli.containers_sqlite import sql
from cli.install_sqlite import DatabaseStore
from cli.install_store import Json, SessionInTheWay
from eventstore.wire.codec import dump

GLOBAL = "global"


class OpenCodeStore(DatabaseStore):
    """`cwd`: where the session is gone on with."""

    agent = AGENT
    tables = ("session", "message", "part", "todo")
    schema = ("create_tables", "create_other_tables")

    def __init__(self, place: Path, cwd: str) -> None:
        super().__init__(place)
        self._cwd = os.path.realpath(cwd)

    def content(self, database: sqlite3.Connection, written: Written, lost: list[str], notes: list[str]) -> Any:
        project = _project(database, self._cwd)
        directory = Path(self._cwd)
        path = "" if project["project_id"] == GLOBAL else directory.relative_to(project["worktree"]).as_posix()
        own = {"project_id": project["project_id"], "directory": self._cwd, "path": "" if path == "." else path}
        rows: list[tuple[str, Json]] = []
        for one in (written, *written.subagents):
            document = one.records[0]
            session = session_row(document, lost) | own
            rows += [("session", session), *message_rows(document, session, lost)]
            rows += [("todo", row) for row in todo_rows(document, session, lost)]
        self._check_ids(database, rows)
        return project, rows

    def insert(self, database: sqlite3.Connection, content: Any) -> None:
        project, rows = content
        database.execute(sql(AGENT, "insert_project_of_install"), project)
        for table, row in rows:
            database.execute(sql(AGENT, f"insert_{table}"), row)

    def rest(self, content: Any) -> Json:
        return {"project": content[0]["project_id"]}

    def delete_rest(self, database: sqlite3.Connection, undo: Json) -> None:
        database.execute(sql(AGENT, "delete_project"), {"project_id": undo["project"]})

    def read(self, path: Path, session_id: str) -> Conversion:
        return read_document(read_database(path, session_id).document)

    def _check_ids(self, database: sqlite3.Connection, rows: list[tuple[str, Json]]) -> None:
        """An id names one message in the whole store: OpenCode would show none where another session has it."""
        sessions = [row["id"] for table, row in rows if table == "session"]
        ids = [row["id"] for table, row in rows if table in ("message", "part")]
        named = {"ids": dump(ids), "session_ids": dump(sessions)}
        taken = database.execute(sql(AGENT, "taken_ids"), named).fetchone()
        if taken:
            raise SessionInTheWay(
                f"Another session of OpenCode has {taken[0]}, which is in this one too. Give --session-id ses_… for ids of its own."
            )


def _project(database: sqlite3.Connection, cwd: str) -> Json:
    worktree = _git(cwd, "rev-parse", "--show-toplevel")
    if not worktree:
        return {"project_id": GLOBAL, "worktree": "/", "vcs": None}
    worktree = os.path.realpath(worktree)
    known = database.execute(sql(AGENT, "project_at"), {"worktree": worktree}).fetchone()
    name = next(filter(None, (known and known[0], _kept_name(worktree), *_first_commits(worktree))), GLOBAL)
    return {"project_id": name, "worktree": worktree if name != GLOBAL else "/", "vcs": "git"}


def _kept_name(worktree: str) -> str:
    folder = _git(worktree, "rev-parse", "--git-common-dir")
    try:
        return (Path(worktree) / folder / "opencode").read_text("utf-8").strip()[:200] if folder else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _first_commits(worktree: str) -> Iterator[str]:
    yield from sorted(_git(worktree, "rev-list", "--max-parents=0", "--all").split())


def _git(folder: str, *command: str) -> str:
    """What Git says, "" where it has nothing to say, or is not there."""
    try:
        done = subprocess.run(["git", "-C", folder, *command], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
