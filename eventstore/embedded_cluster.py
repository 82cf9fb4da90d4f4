"""The files of an embedded cluster: how it is made, how it is set up, and what it says of itself.

`<base>` is `<data dir>/postgres`, and belongs to whoever runs Tasuki; only `cluster` in it belongs to the account that
runs the engine, and nothing is written there from outside but by PostgreSQL, so that this account is given no way to
have a file written as root.

    cluster/          PGDATA                          pgpass       the password, mode 0600, as libpq's passfile
    postgresql.conf   written anew at every start     local.conf   the operator's own settings, if any; they win
    pg_hba.conf       loopback and password only      log, log.1   the server's own words; never a statement or value
"""

import os
import random
import secrets
import shutil
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from eventstore.embedded_engine import Account, Engine
from eventstore.errors import EmbeddedUnavailable

ROLE = "tasuki"
DATABASE = "postgres"
HOST = "127.0.0.1"
# Below the range that kernels give to clients, so that no outgoing connection holds the port first.
PORTS = range(20_000, 32_000)
LOG_BYTES_MAX = 4 * 1024 * 1024
LOG_TAIL_BYTES = 2_000
SSL_REQUEST = struct.pack("!ii", 8, 80877103)

SETTINGS: Mapping[str, str] = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "cluster_name": "tasuki",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "synchronous_commit": "on",
    "jit": "off",  # compiles for a second what runs for a millisecond
    "random_page_cost": "1.1",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
    # What a client did wrong is told to the client; here it would only spread messages and keys.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
# Order and case are PostgreSQL's own everywhere; what is a letter, pg_trgm still asks the platform.
CTYPE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
HBA = f"host all all {HOST}/32 scram-sha-256\n"


@dataclass(frozen=True)
class PidFile:
    """What `postmaster.pid` says; true only while the server runs."""

    pid: int
    port: int
    ready: bool


class ClusterFiles:
    """The folder `<base>` and the questions that can be asked of it without a connection."""

    def __init__(self, base: Path, *, fsync: bool, settings: Mapping[str, str]) -> None:
        self.base = base
        self.data = base / "cluster"
        self.log = base / "log"
        self.passfile = base / "pgpass"
        self.config = base / "postgresql.conf"
        self.hba = base / "pg_hba.conf"
        self._fsync = fsync
        self._log_begins = 0
        self._settings = {**SETTINGS, "fsync": "on" if fsync else "off", **settings}

    def initialise(self, engine: Engine, account: Account, *, log: int, keep_fds: list[int], timeout_s: float) -> None:
        """Make the cluster, whole and synced or not at all: `initdb` beside its place, then one rename."""
        staged = self.base / "cluster.new"
        if staged.exists():
            shutil.rmtree(staged)
        staged.mkdir(mode=0o700)
        account.own(staged)
        password_file = self._write_password(account)
        command: list[str | Path] = [engine.programs / "initdb", "-D", staged, "-U", ROLE, "--encoding=UTF8"]
        command += ["--locale=C", f"--lc-ctype={CTYPE}", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command += ["--no-instructions", "--auth=scram-sha-256", f"--pwfile={password_file}"]
        command += [] if self._fsync else ["--no-sync"]
        code = account.run(command, output=log, timeout_s=timeout_s, keep_fds=keep_fds)
        password_file.unlink()
        if code:
            raise EmbeddedUnavailable(f"initdb ended with {code}. {self.log_tail()}")
        staged.rename(self.data)
        self._sync_folder()

    def _write_password(self, account: Account) -> Path:
        """Make a password: in `pgpass` for us, in the returned file for initdb alone."""
        password = secrets.token_hex(32)
        _write_private(self.passfile, f"*:*:*:{ROLE}:{password}\n")
        for_initdb = self.base / "password.new"
        _write_private(for_initdb, password + "\n")
        account.own(for_initdb)
        return for_initdb

    def _sync_folder(self) -> None:
        for folder in (self.base, self.base.parent):
            fd = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def check(self, engine: Engine) -> None:
        """Refuse a cluster of another major version, or one whose password is gone. Raises EmbeddedUnavailable."""
        major = (self.data / "PG_VERSION").read_text().strip()
        if major != str(engine.major):
            raise EmbeddedUnavailable(
                f"{self.data} was made by PostgreSQL {major}, and this Tasuki brings PostgreSQL {engine.major}: "
                f"dump it with the version that made it and load the dump into an empty data directory, "
                f"or run it with a PostgreSQL {major} of your own and set TASUKI_DSN"
            )
        if not self.passfile.exists():
            raise EmbeddedUnavailable(
                f"{self.passfile} is missing, and with it the password of {self.data}: put it back from your backup"
            )

    def configure(self, *, fresh_port: bool) -> None:
        """Write the configuration, with the port it had before unless that is taken or `fresh_port` is wanted."""
        port = self.port_before()
        if fresh_port or port is None or not _is_free(port):
            port = _free_port()
        lines = ["# Written by Tasuki at every start. Your own settings: a file local.conf beside this one."]
        lines += [f"port = {port}", *(f"{name} = {_quoted(value)}" for name, value in self._settings.items())]
        if (self.base / "local.conf").exists():
            lines.append("include 'local.conf'")
        for path, text in ((self.config, "\n".join(lines) + "\n"), (self.hba, HBA)):
            staged = path.with_suffix(".new")
            staged.write_text(text)
            staged.chmod(0o644)
            staged.replace(path)

    def port_before(self) -> int | None:
        """Return the port of the last configuration that was written."""
        with suppress(OSError, ValueError, IndexError):
            return int(self.config.read_text().split("port = ", 1)[1].split()[0])
        return None

    def dsn(self, port: int) -> str:
        """Return how to connect. The password is in the passfile, and no other way of proving it is accepted."""
        passfile = quote(str(self.passfile), safe="")
        return f"postgresql://{ROLE}@{HOST}:{port}/{DATABASE}?passfile={passfile}&require_auth=scram-sha-256"

    def pid_file(self) -> PidFile | None:
        """Return what the server says of itself, None while it says nothing or not everything yet."""
        with suppress(OSError, ValueError, IndexError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return PidFile(int(lines[0]), int(lines[3]), lines[7].startswith("ready"))
        return None

    def is_alive(self, pid: int) -> bool:
        """Say whether `pid` is a live process of this cluster; a zombie or another program is not."""
        if not Path("/proc/self/stat").exists():
            with suppress(OSError):
                os.kill(pid, 0)
                return True
            return False
        with suppress(OSError):
            return os.path.samefile(f"/proc/{pid}/cwd", self.data) and self._owns(pid)
        return False

    def _owns(self, pid: int) -> bool:
        """Whoever runs the engine can write any pid into its folder: signal only processes of that account."""
        return os.stat(f"/proc/{pid}").st_uid == self.data.stat().st_uid

    def quit_orphans(self) -> None:
        """End what a killed server left behind, as it would have itself; where there is no /proc they end unasked."""
        for entry in Path("/proc").glob("[0-9]*"):
            if self.is_alive(int(entry.name)):
                with suppress(OSError):
                    os.kill(int(entry.name), signal.SIGQUIT)

    def open_log(self) -> int:
        """Return the log as an open file, after setting a long one aside."""
        with suppress(FileNotFoundError):
            if self.log.stat().st_size > LOG_BYTES_MAX:
                self.log.replace(self.base / "log.1")
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._log_begins = os.fstat(log).st_size
        return log

    def log_tail(self) -> str:
        """Return the end of what the log got since this process opened it, for an error."""
        try:
            said = self.log.read_bytes()[self._log_begins :][-LOG_TAIL_BYTES:].decode(errors="replace").strip()
        except OSError:
            said = ""
        return f"The end of {self.log}:\n{said}" if said else f"{self.log} is empty"


def answers(port: int) -> bool:
    """Say whether a PostgreSQL listens: it answers a request for TLS with one byte, before anything else."""
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1) as connection:
        connection.sendall(SSL_REQUEST)
        return connection.recv(1) in (b"N", b"S")
    return False


def _free_port() -> int:
    for port in random.sample(PORTS, 100):
        if _is_free(port):
            return port
    raise EmbeddedUnavailable(f"No free port on {HOST} among {PORTS.start} to {PORTS.stop}")


def _is_free(port: int) -> bool:
    with suppress(OSError), socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        trial.bind((HOST, port))
        return True
    return False


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
