"""A database's own processes, ended one at a time as an operator or a failing network would."""

import random

import anyio
import psycopg

LISTENERS = "query = 'listen tasuki'"
WORKERS = "application_name = 'tasuki' and query <> 'listen tasuki'"


async def keep_terminating(dsn: str, which: str, pause_s: tuple[float, float], ended: list[int]) -> None:
    """Terminate one of the hubs' backends at random, pause, and again, until cancelled."""
    query = f"select pid from pg_stat_activity where datname = current_database() and {which}"
    with psycopg.connect(dsn, autocommit=True, application_name="test") as connection:
        while True:
            await anyio.sleep(random.uniform(*pause_s))  # the pace of the faults
            pids = [pid for (pid,) in connection.execute(query)]
            if pids:
                pid = random.choice(pids)
                connection.execute("select pg_terminate_backend(%s)", [pid])
                ended.append(pid)
