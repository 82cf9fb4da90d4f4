"""Processes that are stopped in the middle of what they do, as SIGSTOP, a suspended machine or a pulled cable would."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

IN_A_TRANSACTION = """
import os, signal, sys, psycopg
with psycopg.connect(sys.argv[1]) as connection:
    connection.execute("select store.configure_connection(30000, 5000)")
    connection.commit()
    connection.execute("select store.lock_log()")
    os.kill(os.getpid(), signal.SIGSTOP)
"""
"""Holds the append lock in a transaction of the client's: one that the hub itself never begins."""

IN_A_MIGRATION = """
import os, signal, sys
from sql import migrate
migrate._IDLE_MS_MAX = 3000
migrate._refresh = lambda connection: os.kill(os.getpid(), signal.SIGSTOP)
migrate.migrate(sys.argv[1])
"""
"""Holds the lock as a server does that starts, looks at the schema, and finds nothing to do; it may do so for 3 s, not 10."""

IN_THE_MIDDLE_OF_SENDING = """
import os, signal, sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    connection.execute("select store.configure_connection(2000, 5000)")
    connection.pgconn.enter_pipeline_mode()
    connection.pgconn.send_query_params(b"select store.lock_log()", [])
    connection.pgconn.send_flush_request()
    connection.pgconn.flush()
    os.kill(os.getpid(), signal.SIGSTOP)
"""
"""Has sent its call, all but the last five bytes, with which the database would commit."""

AGAIN_AND_AGAIN = """
import sys, psycopg
with psycopg.connect(sys.argv[1]) as connection:
    connection.execute("select store.configure_connection(30000, 5000)")
    connection.execute("set idle_in_transaction_session_timeout = '3s'")
    while True:
        connection.execute("select store.lock_log()")
        connection.execute("select 1")
        connection.commit()
"""
"""Takes the lock and looks at something before it commits, as a log does whose appends take several round trips. Stopped, it
loses the lock after 3 s."""


def freeze(process: subprocess.Popen[bytes]) -> None:
    """Stop a child of ours; when this returns, it does nothing any more."""
    process.send_signal(signal.SIGSTOP)
    await_stop(process)


def await_stop(process: subprocess.Popen[bytes]) -> None:
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"it ended with {status} instead of being stopped"


def thaw(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def running(script: str, dsn: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs a script, killed when the context is left."""
    process = subprocess.Popen([sys.executable, "-c", script, dsn], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
