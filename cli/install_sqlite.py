"""A store that is a SQLite database: held so that nobody else has it open, written in one transaction, taken out row by row.

In a database that writes ahead (WAL), whoever has it open holds a lock on it: holding it exclusively shows that the agent is not
there, and keeps it out meanwhile. Where it does not, only an agent that is just writing is noticed.
"""

import os
import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from adapters.conversion import Conversion
from adapters.written import Written
from cli.containers_sqlite import is_database, sql
from cli.install_store import GoneOn, Json, NotInstalled, Plan, StoreHeld, UnsupportedStore, digest_of

BUSY_S = 2.0


class DatabaseStore(ABC):
    """One agent's database. `tables`: those of a session, in the order in which they are filled; `schema`: files that make them."""

    agent: str
    tables: tuple[str, ...]
    schema: tuple[str, ...]
    not_compared: frozenset[tuple[str, str]] = frozenset()  # tables' columns that the store itself gives out

    def __init__(self, place: Path) -> None:
        self.place = place

    @abstractmethod
    def content(self, database: sqlite3.Connection, written: Written, lost: list[str], notes: list[str]) -> Any:
        """Return the rows of sessions as they are to be in this database. Raises SessionInTheWay.

        What it cannot hold is added to `lost`, what is another one there to `notes`.
        """

    @abstractmethod
    def insert(self, database: sqlite3.Connection, content: Any) -> None:
        """Insert rows."""

    def rest(self, content: Any) -> Json:
        """Return what else than the sessions' rows is put in."""
        return {}

    def delete_rest(self, database: sqlite3.Connection, undo: Json) -> None:  # noqa: B027  # most have nothing else
        """Delete what else was put in."""

    @abstractmethod
    def read(self, path: Path, session_id: str) -> Conversion:
        """Read a session of a database with our reader."""

    @contextmanager
    def held(self, *, is_to_write: bool) -> Iterator["Rows"]:
        if not self.place.exists():
            with self._new(is_to_write) as rows:
                yield rows
            return
        if not is_database(self.place):
            raise UnsupportedStore(f"{self.place} is no database.")
        try:
            with closing(sqlite3.connect(self.place, timeout=BUSY_S, isolation_level=None)) as database:
                self._hold(database)
                rows = Rows(self, database)
                yield rows
                database.execute("commit")
        except sqlite3.DatabaseError as error:
            raise UnsupportedStore(f"{self.place} cannot be written to as it is: {error}.") from None
        if rows.is_to_remove:
            self.place.unlink()

    def facts_after(self, undo: Json) -> Json:
        return undo | {"file": self.fingerprint()} if undo["is_new"] else undo

    def fingerprint(self) -> str:
        """What the file is now, if it is all there is to the database."""
        if self.place.with_name(self.place.name + "-wal").exists():
            return ""
        return sha256(self.place.read_bytes()).hexdigest()

    def read_back(self, names: tuple[str, ...]) -> list[str]:
        return [message.append_id for message in self.read(self.place, names[0]).messages]

    def staged(self, content: Any, names: tuple[str, ...]) -> tuple[str, list[str]]:
        """Put rows into a database of their own and read that; return its digest, and the append ids of what it says."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "staged.db"
            with closing(sqlite3.connect(path, isolation_level=None)) as database:
                self.make_tables(database)
                try:
                    self.insert(database, content)
                except sqlite3.Error as error:
                    raise NotInstalled(f"These rows do not stand together in a store of {self.agent}: {error}.") from None
                digest = Rows(self, database).digest(names)
            return digest, [message.append_id for message in self.read(path, names[0]).messages]

    def make_tables(self, database: sqlite3.Connection) -> None:
        for file in self.schema:
            database.executescript(sql(self.agent, file))

    def columns(self) -> dict[str, list[str]]:
        """The columns of each table that our statements know."""
        with closing(sqlite3.connect(":memory:")) as database:
            self.make_tables(database)
            return {table: _columns_of(database, table) for table in self.tables}

    def _hold(self, database: sqlite3.Connection) -> None:
        try:
            database.executescript(sql(self.agent, "hold"))
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) and "busy" not in str(error):
                raise
            raise StoreHeld(f"{self.place} is open in another program. End {self.agent} there, then try again.") from None
        for table, columns in self.columns().items():
            missing = sorted(set(columns) - set(_columns_of(database, table)))
            if missing:
                raise UnsupportedStore(
                    f"{self.place} is of another version of {self.agent}: its table {table} has no {', '.join(missing)}. Start the"
                    f" agent once in a version that has them, or write a file with -o and let it import that."
                )

    @contextmanager
    def _new(self, is_to_write: bool) -> Iterator["Rows"]:
        """A database where there is none: in its place when the block ends well, and if it is to be written."""
        folder = self.place.parent if is_to_write else None
        try:
            if folder:
                folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=folder, prefix=f".{self.place.name}.")
        except OSError as error:
            raise UnsupportedStore(f"{folder} cannot be written to: {error.strerror or 'no reason given'}.") from None
        os.close(handle)
        try:
            with closing(sqlite3.connect(name, isolation_level=None)) as database:
                self.make_tables(database)
                rows = Rows(self, database, is_new=True)
                database.execute("begin")
                yield rows
                database.execute("commit")
            if is_to_write:
                os.link(name, self.place)
        except FileExistsError:
            raise StoreHeld(f"{self.place} has come into being meanwhile: try again.") from None
        finally:
            Path(name).unlink(missing_ok=True)


class Rows:
    """A database that is held, in a transaction."""

    def __init__(self, store: DatabaseStore, database: sqlite3.Connection, *, is_new: bool = False) -> None:
        self._store, self._database, self._is_new = store, database, is_new
        self.is_to_remove = False

    def plan(self, written: Written) -> Plan:
        lost: list[str] = []
        notes: list[str] = []
        names = tuple(one.session_id for one in (written, *written.subagents))
        content = self._store.content(self._database, written, lost, notes)
        digest, meant = self._store.staged(content, names)
        return Plan(names, digest, meant, lost, notes, content)

    def digest(self, names: tuple[str, ...]) -> str:
        parts = []
        for table, known in self._store.columns().items():
            compared = [column for column in sorted(known) if (table, column) not in self._store.not_compared]
            for name in names:
                cursor = self._database.execute(sql(self._store.agent, f"all_of_{table}"), {"session_id": name})
                columns = [column[0] for column in cursor.description]
                for row in cursor:
                    values = dict(zip(columns, row, strict=True))
                    parts.append(repr([(name, values[name]) for name in compared if values[name] is not None]).encode())
        return digest_of(parts)

    def undo_of(self, plan: Plan, old: Json | None) -> Json:
        is_new = self._is_new or bool(old and old["is_new"])
        return {"names": list(plan.names), "is_new": is_new, **self._store.rest(plan.content)}

    def put(self, plan: Plan, old: Json | None) -> None:
        if old:
            self._delete(tuple(old["names"]))
        self._store.insert(self._database, plan.content)
        if self.digest(plan.names) != plan.digest:
            raise UnsupportedStore(f"{self._store.place} changes what is written to it: another version of {self._store.agent}?")

    def take(self, names: tuple[str, ...], undo: Json, digests: Sequence[str]) -> None:
        if self.digest(names) not in digests:
            raise GoneOn("The agent has written to the session since it was installed.")
        others = self._database.execute(sql(self._store.agent, "list_sessions")).fetchall()
        is_alone = all(row[0] in names for row in others)
        self.is_to_remove = is_alone and bool(undo.get("file")) and undo["file"] == self._store.fingerprint()
        if not self.is_to_remove:
            self._delete(names)
            self._store.delete_rest(self._database, undo)

    def sweep(self, names: tuple[str, ...], undo: Json) -> None:
        """Nothing: what is not committed is not there."""

    def _delete(self, names: tuple[str, ...]) -> None:
        for name in reversed(names):
            for table in reversed(self._store.tables):
                self._database.execute(sql(self._store.agent, f"delete_{table}"), {"session_id": name})


def _columns_of(database: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in database.execute(f"pragma table_info({table})")]
