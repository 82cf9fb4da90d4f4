"""Stage: one PostgreSQL with fsync on, databases, hubs and floor servers on it; all ended, by process id, when it closes."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg.conninfo import make_conninfo

from bench.cpu import Meter, parent_of
from eventstore.embedded import EmbeddedPostgres
from sql.migrate import migrate

REPOSITORY = Path(__file__).resolve().parent.parent
START_S, STOP_S = 60.0, 15.0
RELOAD_S = 0.5  # until every backend has a new setting


class Server:
    """A server process that says where it listens. Its output goes to a file; it is waited for when its address is wanted."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path, says: str) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self.pid = self._process.pid
        self._log, self._says = log, says

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @cached_property
    def address(self) -> tuple[str, int]:
        """Host and port. Raises OSError when it did not start."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            found = re.search(self._says + r" http://([\d.]+):(\d+)", self._log.read_text("utf-8", "replace"))
            if found:
                return found[1], int(found[2])
            time.sleep(0.02)
        raise OSError(f"a server did not start: {self._log.read_text('utf-8', 'replace')[-2000:]}")


class Hub(Server):
    """A `tasuki serve` on a database, as it ships: redaction on, a log line for every request."""

    def __init__(self, dsn: str, data_dir: Path, log: Path) -> None:
        command = [sys.executable, "-m", "cli.main", "serve", "--port", "0", "--data-dir", str(data_dir)]
        super().__init__(command, {**_plain_environment(), "TASUKI_DSN": dsn}, log, "Tasuki serves at")
        self._token_path = data_dir / "token"

    @cached_property
    def token(self) -> str:
        assert self.address
        return self._token_path.read_text("ascii").strip()


class Floor(Server):
    """A bare asyncio protocol that writes prebuilt bytes: what HTTP costs at least in this language."""

    def __init__(self, log: Path) -> None:
        super().__init__([sys.executable, "-m", "bench.floor"], _plain_environment(), log, "Floor at")


class Stage:
    """What a run stands on, in a temporary folder (TMPDIR decides the file system). `postgres_pid` is for its CPU."""

    def __enter__(self) -> Self:
        self._exits = ExitStack()
        self.folder = Path(self._exits.enter_context(tempfile.TemporaryDirectory(prefix="tasuki-bench-")))
        self.folder.chmod(0o711)  # the engine's account passes through, when root runs this
        try:
            postgres = self._exits.enter_context(EmbeddedPostgres(self.folder / "database"))
            self._admin_dsn = postgres.start()
            with psycopg.connect(self._admin_dsn) as connection:
                self.postgres_version = connection.info.server_version // 10000
                self.postgres_pid = parent_of(connection.info.backend_pid) or 0
        except BaseException:
            self._exits.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._exits.close()

    def database(self, name: str) -> str:
        """Make an empty log in a database of its own and return its DSN."""
        with psycopg.connect(self._admin_dsn, autocommit=True) as admin:
            admin.execute(f"create database {name} template template0")
        dsn = make_conninfo(self._admin_dsn, dbname=name)
        migrate(dsn)
        return dsn

    @contextmanager
    def syncing_slowly(self, us: int) -> Iterator[None]:
        """Let a commit take so many microseconds more, as on a disk that syncs more slowly, while the context is open."""
        self._set("commit_siblings", 0)
        self._set("commit_delay", us)
        try:
            yield
        finally:
            self._set("commit_delay", 0)

    def _set(self, name: str, value: int) -> None:
        with psycopg.connect(self._admin_dsn, autocommit=True) as admin:
            admin.execute(f"alter system set {name} = {value}".encode())
            admin.execute("select pg_reload_conf()")
        time.sleep(RELOAD_S)

    def hub(self, dsn: str) -> Hub:
        """Start a server process of the hub on a database; it lives as long as the stage."""
        number = len(list(self.folder.glob("hub-*.log")))
        hub = Hub(dsn, self.folder / f"hub-{number}", self.folder / f"hub-{number}.log")
        self._exits.callback(hub.stop)
        return hub

    def floor(self) -> Floor:
        """Start a floor server; it lives as long as the stage."""
        floor = Floor(self.folder / f"floor-{len(list(self.folder.glob('floor-*.log')))}.log")
        self._exits.callback(floor.stop)
        return floor

    def meter(self, program: Server | None = None) -> Meter:
        """A meter for a server process, or for this one, and the database."""
        return Meter(self.postgres_pid, program.pid if program else None)


def _plain_environment() -> dict[str, str]:
    """Nothing of TASUKI_* or of the user's: the figures are of a hub as it ships."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TZ", "TMPDIR") if name in os.environ}
