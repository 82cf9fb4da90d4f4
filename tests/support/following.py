"""The drivers of the tests' followers in a process of their own, to be killed: `python -m following DSN RANGE_EVENTS`.

Prints a line when they drive. Many small ranges make many places to be killed at.
"""

import sys

import anyio
from with_followers import register

from eventstore.db import Database
from eventstore.listener import Listener
from eventstore.settings import Settings
from workers import follow


async def drive(dsn: str) -> None:
    database = Database(Settings(), dsn)
    await database.open()
    followers = follow.Followers(database, 1.0)
    listener = Listener(database, dsn, lambda sessions, patched: followers.wake(), 1.0, 30.0)
    await listener.start()
    print("begun", flush=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(followers.run)
        tasks.start_soon(listener.run)


if __name__ == "__main__":
    register()
    follow.RANGE_EVENTS = int(sys.argv[2])
    follow.STAND_BY_S = 0.2
    anyio.run(drive, sys.argv[1])
