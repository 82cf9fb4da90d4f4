"""The PostgreSQL that comes along when no DSN is given: one for a data directory, shared by every process that uses it.

Three locks say all there is to know. They are flocks: the kernel lets go of them when their holders die, however.
1. `start.lock`: held by the one process that starts or stops the server.
2. `users.lock`: shared by all who use the server. Who leaves, and then gets it alone, was the last and stops it.
3. `running.lock`: inherited by the server and all its processes, and by `initdb`. While it is held, look for an answer;
   once it is free nothing of the cluster is left, and a `postmaster.pid` is stale even if its number is a zombie's, was
   given to another program, or cannot be seen from this container.

`pg_ctl` only detaches the server; its own idea of "running" is the pid file, which a zombie keeps true.
"""

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from eventstore.embedded_cluster import ClusterFiles, answers
from eventstore.embedded_engine import choose_account, prepare_engine
from eventstore.errors import EmbeddedUnavailable

if sys.platform != "win32":
    import fcntl

START_LIMIT_S = 120.0
"""For `start` as a whole: waiting for others, `initdb`, and the recovery after a crash."""
STOP_FAST_S = 12.0
"""For a clean stop, with a checkpoint; then the server is cut off, and recovers when it starts again."""
STOP_CUT_S = 3.0
STOP_TURN_S = 3.0
"""For the turn to stop it; whoever does not yield that uses the server, or is stopping it."""
POLL_S = 0.01
LAUNCHES_MAX = 5
OURS_BEFORE_START = {"postgres", "tasuki.toml"}
"""A data directory with nothing else in it is surely ours, and may be opened to the engine's account for passing."""


class EmbeddedPostgres:
    """A use of the server under `data_dir`. It may be used from several threads, and left and used again.

    `settings` are PostgreSQL's own and count when this process is the one that starts the server. With `fsync` off a
    crash of the machine loses the cluster: for tests only.
    """

    def __init__(self, data_dir: Path, *, fsync: bool = True, settings: Mapping[str, str] = MappingProxyType({})) -> None:
        self.data_dir = Path(data_dir).absolute()
        self._files = ClusterFiles(self.data_dir / "postgres", fsync=fsync, settings=settings)
        self._use: int | None = None
        self._guard = threading.Lock()

    def start(self) -> str:
        """Return the DSN of the running server, having made, started, repaired or found it.

        Called again it answers at once, or starts the server again if it was killed: on the same port, unless that was
        taken meanwhile. Blocks at most START_LIMIT_S. Raises EmbeddedUnavailable, with the end of the server's log.
        """
        if sys.platform == "win32":
            raise EmbeddedUnavailable("There is no embedded PostgreSQL on Windows: set TASUKI_DSN to a PostgreSQL")
        deadline = time.monotonic() + START_LIMIT_S
        with self._guard:
            try:
                self._make_folders()
                with self._starting(deadline):
                    return self._files.dsn(self._start(deadline))
            except OSError as error:
                raise EmbeddedUnavailable(f"The embedded PostgreSQL in {self._files.base}: {error}") from error

    def stop(self) -> None:
        """Leave the server, and stop it when nobody else uses it. Does nothing when there is nothing to leave."""
        with self._guard:
            if self._use is None:
                return
            use, self._use = self._use, None
            try:
                # If the folder is gone, or another process starts or stops the server all the time, it is theirs now.
                with suppress(OSError, EmbeddedUnavailable), self._starting(time.monotonic() + STOP_TURN_S):
                    fcntl.flock(use, fcntl.LOCK_UN)
                    self._stop_if_last()
            finally:
                os.close(use)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _start(self, deadline: float) -> int:
        """Return the port of a server that takes connections, and be counted among its users."""
        use = self._use
        if use is None:
            use = self._open("users.lock")
            fcntl.flock(use, fcntl.LOCK_SH)
        try:
            port = self._running_port(deadline)
        except BaseException:
            if self._use is None:
                os.close(use)
            raise
        self._use = use
        return port

    def _running_port(self, deadline: float) -> int:
        launches, fresh_port = 0, False
        while True:
            running = self._take("running.lock")
            if running is not None:
                try:
                    if launches:
                        fresh_port = self._why_it_died(launches)
                    self._launch(running, deadline, fresh_port=fresh_port)
                    launches += 1
                finally:
                    os.close(running)
            port = self._answering_port()
            if port is not None:
                return port
            if time.monotonic() > deadline:
                raise EmbeddedUnavailable(self._too_late())
            time.sleep(POLL_S)

    def _answering_port(self) -> int | None:
        """Return the port once the server is ready; end the orphans of a server that was killed."""
        said = self._files.pid_file()
        if said is None:
            return None
        if not self._files.is_alive(said.pid):
            self._files.quit_orphans()
            return None
        return said.port if said.ready and answers(said.port) else None

    def _launch(self, running: int, deadline: float, *, fresh_port: bool) -> None:
        """Start the server, made first if need be. Everything that is run inherits `running`."""
        files = self._files
        account = choose_account(files.data)
        if not account.can_enter(files.base):
            raise EmbeddedUnavailable(
                f"PostgreSQL runs as the account '{account.name}' here, because it does not run as root, and this "
                f"account cannot reach {files.base}: choose a data directory that it can, such as /var/lib/tasuki "
                f"(TASUKI_DATA_DIR), or start Tasuki as an ordinary user"
            )
        engine = prepare_engine(files.base, account)
        log = files.open_log()
        try:
            if not files.data.exists():
                left_s = deadline - time.monotonic()
                files.initialise(engine, account, log=log, keep_fds=[running], timeout_s=left_s)
            files.check(engine)
            files.configure(fresh_port=fresh_port)
            (files.data / "postmaster.pid").unlink(missing_ok=True)
            options = shlex.join(["-c", f"config_file={files.config}", "-c", f"hba_file={files.hba}"])
            command: list[str | Path] = [engine.programs / "pg_ctl", "-D", files.data, "-W", "-o", options, "start"]
            account.run(command, output=log, timeout_s=30, keep_fds=[running])
        except subprocess.TimeoutExpired as error:
            raise EmbeddedUnavailable(f"{error}. {files.log_tail()}") from error
        finally:
            os.close(log)

    def _why_it_died(self, launches: int) -> bool:
        """Return whether the next launch needs another port. Raises EmbeddedUnavailable if it would end the same way."""
        tail = self._files.log_tail()
        port_taken = "could not bind" in tail
        # A server that was killed says nothing of why it ends.
        gave_a_reason = any(word in tail for word in ("FATAL:", "PANIC:", "could not"))
        if launches < LAUNCHES_MAX and (port_taken or not gave_a_reason):
            return port_taken
        raise EmbeddedUnavailable(f"PostgreSQL ended while it started. {tail}")

    def _too_late(self) -> str:
        said = self._files.pid_file()
        if said is not None and self._files.is_alive(said.pid):
            return (
                f"PostgreSQL (process {said.pid}) has not been ready within {START_LIMIT_S:.0f} s. It goes on "
                f"starting: try again. {self._files.log_tail()}"
            )
        return (
            f"Processes of {self._files.data} still run, and none of them answers on {START_LIMIT_S:.0f} s of asking: "
            f"another container or host may use this folder, or a killed server's last process hangs. "
            f"{self._files.log_tail()}"
        )

    def _stop_if_last(self) -> None:
        alone = self._take("users.lock")
        if alone is None:
            return
        try:
            for signal_number, patience_s in ((signal.SIGINT, STOP_FAST_S), (signal.SIGQUIT, STOP_CUT_S)):
                said = self._files.pid_file()
                if said is not None and self._files.is_alive(said.pid):
                    os.kill(said.pid, signal_number)
                elif said is not None:
                    self._files.quit_orphans()
                if self._has_ended(patience_s):
                    return
        finally:
            os.close(alone)

    def _has_ended(self, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            running = self._take("running.lock")
            if running is not None:
                os.close(running)
                return True
            time.sleep(POLL_S)
        return False

    def _make_folders(self) -> None:
        """Make the data directory, or let the engine's account pass through one that is surely ours."""
        base = self._files.base
        as_root = os.geteuid() == 0
        mode = 0o711 if as_root else 0o700
        self.data_dir.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.data_dir.mkdir(mode=mode)
        if as_root and {entry.name for entry in self.data_dir.iterdir()} <= OURS_BEFORE_START:
            self.data_dir.chmod(self.data_dir.stat().st_mode | 0o111)
        base.mkdir(mode=mode, exist_ok=True)
        if as_root:
            base.chmod(mode)

    @contextmanager
    def _starting(self, deadline: float) -> Iterator[None]:
        while (lock := self._take("start.lock")) is None:
            if time.monotonic() > deadline:
                raise EmbeddedUnavailable(
                    f"Another process has been starting or stopping the PostgreSQL in {self._files.base} for "
                    f"{START_LIMIT_S:.0f} s and holds start.lock there"
                )
            time.sleep(POLL_S)
        try:
            yield
        finally:
            os.close(lock)

    def _open(self, name: str) -> int:
        return os.open(self._files.base / name, os.O_RDWR | os.O_CREAT, 0o600)

    def _take(self, name: str) -> int | None:
        """Return the lock `name` as an open file, held alone; None if anybody else holds it."""
        lock = self._open(name)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock
