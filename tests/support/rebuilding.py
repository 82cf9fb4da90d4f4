"""A rebuild in a process of its own, to be killed: `python rebuilding.py DSN NAME`. Prints a line when it has begun."""

import sys

import anyio

from eventstore.db import Database
from eventstore.settings import Settings
from projections.rebuild import Progress, rebuild


async def main(dsn: str, name: str) -> None:
    database = Database(Settings(), dsn)
    await database.open()
    print("begun", flush=True)

    async def tell(progress: Progress) -> None:
        print(progress.done_seq, flush=True)

    await rebuild(database, name, tell)
    await database.close()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
