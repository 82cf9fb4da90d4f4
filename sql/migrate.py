"""Bring a database to this program's schema: numbered migrations once, then every function and view again.

One transaction under one lock, so that servers which start together do it once and a failure leaves nothing half done.
A database that a newer program has migrated is refused and left as it is.
"""

import hashlib
import re
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

import psycopg

from eventstore.errors import SchemaMissing, SchemaNewer, StoreUnavailable

_LOCK = 128005062318953  # the append lock: no append runs between an old function and a new one
_CONNECT_TIMEOUT_S = 10
_IDLE_MS_MAX = 10_000  # whoever is stopped or cut off while it migrates must not keep every append waiting


@dataclass(frozen=True)
class MigrationReport:
    """What was done: names of the migrations applied now, the schema's number after it, whether functions were put in again.

    `stale`: projections that this program has in a newer version than the database, to be rebuilt before it serves.
    """

    applied: list[str]
    schema_version: int
    refreshed: bool
    stale: list[str]


def migrate(dsn: str) -> MigrationReport:
    """Migrate the database at `dsn`. Doing it twice is the same as once. A replica gets its schema from the primary.

    Raises SchemaNewer (nothing changed), StoreUnavailable; SchemaMissing on a replica whose primary has another schema.
    """
    try:
        with psycopg.connect(dsn, connect_timeout=_CONNECT_TIMEOUT_S) as connection:
            return _check_replica(connection) if _is_replica(connection) else _migrate(connection)
    except (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout) as error:
        raise StoreUnavailable(f"The database cannot be reached: {_first_line(error)}") from None


def check_schema(dsn: str) -> int:
    """Return the schema's number when it is this program's. Raises SchemaMissing, SchemaNewer, StoreUnavailable."""
    try:
        with psycopg.connect(dsn, connect_timeout=_CONNECT_TIMEOUT_S) as connection:
            found = _found_version(connection)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"The database cannot be reached: {_first_line(error)}") from None
    newest = _numbered()[-1][0]
    if found < newest:
        raise SchemaMissing(f"The database has schema {found}, this program needs {newest}. Run `tasuki migrate`.")
    return found


def _migrate(connection: psycopg.Connection) -> MigrationReport:
    connection.execute("set local check_function_bodies = off")
    connection.execute("set local client_min_messages = warning")
    connection.execute(f"set local idle_in_transaction_session_timeout = {_IDLE_MS_MAX}")
    connection.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
    found = _found_version(connection)
    connection.execute(
        "create schema if not exists store;"
        "create table if not exists store.migrations (number integer primary key, name text not null,"
        " program_version text not null, applied_at timestamptz not null default clock_timestamp());"
        "create table if not exists store.installed (one boolean primary key default true check (one), digest text not null)"
    )
    applied = [name for number, name, _ in _numbered() if number > found]
    for number, name, text in _numbered():
        if number > found:
            connection.execute(text)
            connection.execute(
                "insert into store.migrations (number, name, program_version) values (%s, %s, %s)",
                [number, name, version("tasuki")],
            )
    refreshed = _refresh(connection)
    return MigrationReport(applied, _numbered()[-1][0], refreshed, _stale(connection))


def _is_replica(connection: psycopg.Connection) -> bool:
    row = connection.execute("select pg_is_in_recovery()").fetchone()
    return row is not None and bool(row[0])


def _check_replica(connection: psycopg.Connection) -> MigrationReport:
    """Return that there is nothing to do where the primary has been migrated by a program with this one's SQL."""
    found, newest = _found_version(connection), _numbered()[-1][0]
    if found < newest or not _is_installed(connection, _digest(_function_texts())):
        raise SchemaMissing(
            "This database is a replica, and its primary was not migrated by this version of Tasuki. Start this version"
            " at the primary first."
        )
    return MigrationReport([], newest, refreshed=False, stale=[])


def _function_texts() -> list[str]:
    return [text for folder in ("functions", "views") for _, text in _sql_files(folder)]


def _digest(texts: list[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _is_installed(connection: psycopg.Connection, digest: str) -> bool:
    row = connection.execute("select digest from store.installed").fetchone()
    return row is not None and row[0] == digest


def _refresh(connection: psycopg.Connection) -> bool:
    """Put every function and view in again, unless just these are there."""
    texts = _function_texts()
    digest = _digest(texts)
    if _is_installed(connection, digest):
        return False
    for text in texts:
        connection.execute(text)
    connection.execute(
        "insert into store.installed (digest) values (%s) on conflict (one) do update set digest = excluded.digest",
        [digest],
    )
    return True


def _stale(connection: psycopg.Connection) -> list[str]:
    """The projections to be rebuilt; what a log without events lacks, and what follows it, is made at once. Raises SchemaNewer."""
    found: dict[str, int] = dict(connection.execute("select name, version from store.projections").fetchall())
    row = connection.execute("select exists (select from store.log)").fetchone()
    is_empty = row is not None and not row[0]
    stale = []
    for projection in projections():
        version_found = found.get(projection.name, 0)
        if version_found > projection.version:
            raise SchemaNewer(
                f"The view {projection.name} has version {version_found}, this is Tasuki {version('tasuki')} and knows"
                f" version {projection.version}. Nothing was changed. Start the newer version."
            )
        if version_found == 0 and (is_empty or projection.is_follower):
            connection.execute("set local search_path = store")
            connection.execute(projection.text)
            add = "add_follower(%s, %s, 0)" if projection.is_follower else "add_projection(%s, %s)"
            connection.execute(f"select store.{add}", [projection.name, projection.version])
        elif version_found < projection.version:
            stale.append(projection.name)
    return stale


def _found_version(connection: psycopg.Connection) -> int:
    """The number of the newest migration in the database, 0 for none. Raises SchemaNewer."""
    row = connection.execute("select to_regclass('store.migrations')").fetchone()
    if not row or row[0] is None:
        return 0
    row = connection.execute("select number, program_version from store.migrations order by number desc limit 1").fetchone()
    number, program = row or (0, "")
    newest = _numbered()[-1][0]
    if number > newest:
        raise SchemaNewer(
            f"The database has schema {number} of Tasuki {program}; this is Tasuki {version('tasuki')} and knows schema {newest}."
            " Nothing was changed. Start the newer version."
        )
    return int(number)


def _numbered() -> list[tuple[int, str, str]]:
    return [(int(name.split("_", 1)[0]), name, text) for name, text in _sql_files("migrations")]


@dataclass(frozen=True)
class Projection:
    """A view of the log as its file has it: name, version, and the text that makes its table and its fold.

    `is_follower`: it is not folded by the append but follows the log, by a checkpoint of its own.
    """

    name: str
    version: int
    text: str
    is_follower: bool = False


PROJECTION_FOLDERS: tuple[Traversable, ...] = (files("sql") / "projections",)


def projections() -> list[Projection]:
    """Return every projection of this program. The first line of a file names it, its version, and whether it is a follower."""
    found = []
    for name, text in [file for folder in PROJECTION_FOLDERS for file in _sql_files_in(folder)]:
        head = re.match(rf"-- {name}, version ([1-9][0-9]*)(, by checkpoint)?: ", text)
        assert head, f"{name}.sql must begin with `-- {name}, version <n>: ` or `-- {name}, version <n>, by checkpoint: `"
        found.append(Projection(name, int(head[1]), text, head[2] is not None))
    return found


def _sql_files(folder: str) -> list[tuple[str, str]]:
    return _sql_files_in(files("sql") / folder)


def _sql_files_in(folder: Traversable) -> list[tuple[str, str]]:
    found = [f for f in folder.iterdir() if f.name.endswith(".sql")]
    return sorted((f.name.removesuffix(".sql"), f.read_text("utf-8")) for f in found)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
