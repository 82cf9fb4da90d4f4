"""SIGKILL for a PostgreSQL under test: all its processes at the same moment, or one, as the kernel would for want of memory."""

import contextlib
import os
import random
import signal
from pathlib import Path

import psycopg

WORKER = "select pid from pg_stat_activity where application_name = 'tasuki' and datname = current_database()"


def kill_postgres(data_dir: Path) -> None:
    """Kill the server in `data_dir`, the postmaster first, so that it does nothing about the death of the others."""
    cluster = data_dir / "postgres" / "cluster"
    postmaster = int((cluster / "postmaster.pid").read_text().split()[0])
    others = [pid for pid in _processes_in(cluster) if pid != postmaster]
    for pid in [postmaster, *others]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_backend(dsn: str) -> None:
    """Kill one of the hubs' backends: PostgreSQL then ends all of them, and recovers."""
    with psycopg.connect(dsn, application_name="test") as connection:
        pids = [pid for (pid,) in connection.execute(WORKER)]
    if pids:
        os.kill(random.choice(pids), signal.SIGKILL)


def _processes_in(folder: Path) -> list[int]:
    """Processes that work in a folder; none where there is no /proc: there they end by themselves, a moment later."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.path.samefile(entry / "cwd", folder):
                found.append(int(entry.name))
    return found
