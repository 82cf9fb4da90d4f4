"""SQLite files of agents: read as they are at one moment, the -wal included, and never written to.

A new container is made beside its place and put there whole.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from eventstore.errors import StoreError

Json = dict[str, Any]

_MAGIC = b"SQLite format 3\x00"


class UnreadableContainer(StoreError):
    """What was named holds no session of the agent, or not the one asked for."""

    code, title = "unreadable_container", "No session can be read there"


class ContainerInTheWay(StoreError):
    """Something stands already where a new container should be made."""

    code, title = "container_in_the_way", "There is something in that place already"


@dataclass(frozen=True, slots=True)
class Contents:
    """A session as the agent exports it, and what of the container could not be read."""

    document: Json
    problems: list[str] = field(default_factory=list)


def is_database(path: Path) -> bool:
    """Is it a SQLite file?"""
    try:
        if not path.is_file():
            return False  # a pipe would be waited for
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


@contextmanager
def opened(
    path: Path, agent: str, refusal: Callable[[str], StoreError], text: Callable[[bytes], Any] = str
) -> Iterator[sqlite3.Connection]:
    """Open a database to read, at one moment. Where not even a lock can be taken beside it, a copy is read.

    `refusal` makes the error for a file that SQLite cannot read, of the reason; `text` is SQLite's text factory.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            try:
                database = _begun(path, agent, text)
            except sqlite3.OperationalError:
                database = _begun(_copied(path, Path(folder)), agent, text)
            with closing(database):
                yield database
        except sqlite3.DatabaseError as error:
            raise refusal(str(error)) from None


def rows(database: sqlite3.Connection, agent: str, query: str, values: Mapping[str, Any] | None = None) -> list[Json]:
    """Return the rows of a query of `sql/<agent>`, as objects."""
    return database.execute(sql(agent, query), values or {}).fetchall()


def put(path: Path, content: bytes) -> None:
    """Write a file beside its place and put it there in one step."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def made(path: Path) -> Iterator[sqlite3.Connection]:
    """Make a database beside its place, and put it there when the block ends well: committed, whole, or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        with closing(sqlite3.connect(name)) as database:
            yield database
            database.commit()
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


@cache
def sql(agent: str, name: str) -> str:
    """Return a file of `sql/<agent>`."""
    return (files("sql") / agent / f"{name}.sql").read_text("utf-8")


def _begun(path: Path, agent: str, text: Callable[[bytes], Any]) -> sqlite3.Connection:
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        database.row_factory = _as_dict
        database.text_factory = text
        database.executescript(sql(agent, "begin_reading"))
        rows(database, agent, "table_names")  # the first read takes the lock
    except sqlite3.DatabaseError:
        database.close()
        raise
    return database


def _copied(path: Path, folder: Path) -> Path:
    for suffix in ("", "-wal"):
        source = path.with_name(path.name + suffix)
        if source.exists():
            shutil.copyfile(source, folder / (path.name + suffix))
    return folder / path.name


def _as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> Json:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}
