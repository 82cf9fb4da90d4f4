"""The command that runs a worker by itself, on another host if one likes: worker archive."""

import argparse
import os
import signal
import sys
from typing import Any

import anyio

from eventstore.errors import InvalidSettings
from eventstore.settings import Settings, load_settings


def register(verbs: Any) -> None:
    """Add the verb."""
    worker = verbs.add_parser("worker", help="run a worker by itself: archive", description="Run a worker by itself.")
    parts = worker.add_subparsers(dest="worker_verb", metavar="WHICH", required=True)
    archive = parts.add_parser(
        "archive",
        help="the Git archive's worker",
        description="Write the Git archive of the hub on TASUKI_DSN until interrupted. One works at a time; others stand by\n"
        "and take over. `tasuki serve` runs one too, unless TASUKI_ARCHIVE=off.",
        epilog="example:\n  TASUKI_DSN=postgresql://… TASUKI_ARCHIVE_DIR=/srv/archive.git tasuki worker archive",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    archive.add_argument("--log-level", choices=["debug", "info", "warning", "error"], help="default info")
    archive.set_defaults(run=run_archive)


def run_archive(options: argparse.Namespace) -> int:
    from cli.logs import configure_logs

    settings = load_settings(os.environ, {"log_level": options.log_level})
    if not settings.dsn:
        raise InvalidSettings("Set TASUKI_DSN to the hub's database; a hub on an embedded one runs its own worker.")
    configure_logs(settings.log_level)
    anyio.run(_work, settings, backend_options={"use_uvloop": sys.platform != "win32"})
    return 0


async def _work(settings: Settings) -> None:
    from cli.serve import bring_up_to_date, migrated
    from eventstore.db import Database
    from eventstore.listener import Listener
    from workers.archive.worker import ArchiveWorker

    stale = await anyio.to_thread.run_sync(migrated, settings.dsn)
    database = Database(settings, settings.dsn)
    await database.open()
    try:
        await bring_up_to_date(database, stale)
        async with database.dedicated():
            pass  # told at once where a pooler stands in the way of its lock
        archivist = ArchiveWorker(database, settings.archive_path, settings.archive_remote)
        dsn = settings.listen_dsn or settings.dsn
        listener = Listener(database, dsn, lambda session_nos, patched_nos: archivist.wake(), settings.poll_s, settings.probe_s)
        await listener.start()
        print(f"The archive is at {settings.archive_path}", flush=True)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(archivist.run)
            tasks.start_soon(listener.run)
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for _ in signals:
                    tasks.cancel_scope.cancel()
                    break
    finally:
        with anyio.CancelScope(shield=True):
            await database.close()
