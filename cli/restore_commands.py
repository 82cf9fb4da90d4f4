"""The command that makes a hub from its archive alone: restore. It opens a database itself; no hub may run on it."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import anyio

from eventstore.settings import Settings, load_settings


def register(verbs: Any) -> None:
    """Add the verb."""
    restore = verbs.add_parser(
        "restore",
        help="make a hub from its Git archive alone",
        description="Fill an empty hub, that of TASUKI_DSN or of the data directory, from an archive or a clone of one.\n"
        "Seqs and ids stay; what the archive did not hold is a gap. The log gets a new id, so old cursors are refused.",
        epilog="examples:\n  tasuki restore --from ~/archive.git\n  tasuki restore --data-dir /srv/new --from clone --at snap_40",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    restore.add_argument("--from", dest="archive", required=True, metavar="REPO", type=Path, help="the archive, bare or a clone")
    restore.add_argument("--at", metavar="SNAPSHOT", help="as it was when this snapshot was archived (default: the newest)")
    restore.add_argument("--data-dir", help="the hub's data directory (default TASUKI_DATA_DIR)")
    restore.add_argument("--json", action="store_true", help="print what was restored as JSON")
    restore.set_defaults(run=run_restore)


def run_restore(options: argparse.Namespace) -> int:
    settings = load_settings(os.environ, {"data_dir": options.data_dir})
    report = anyio.run(_restore, settings, options.archive.expanduser(), options.at)
    if options.json:
        print(json.dumps(report))
    else:
        print(f"restored {report['sessions']} sessions, {report['events']} events up to seq {report['head_seq']}")
        print(f"{report['gaps']} events below it were not in the archive; whatever came after it is unknown")
    return 0


async def _restore(settings: Settings, archive: Path, at: str | None) -> dict[str, Any]:
    from cli.serve import bring_up_to_date, migrated, postgres
    from eventstore.db import Database
    from workers.archive.restore import restore

    async with postgres(settings) as (dsn, _):
        stale = await anyio.to_thread.run_sync(migrated, dsn)
        database = Database(settings, dsn)
        await database.open()
        try:
            await bring_up_to_date(database, stale)
            return await restore(database, archive, at)
        finally:
            await database.close()
