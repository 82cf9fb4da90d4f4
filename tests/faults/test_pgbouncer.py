"""Behind pgbouncer in transaction mode LISTEN is accepted and nothing ever comes: the hub finds out, polls, and says so."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import psycopg
import pytest
from hubs import running_hub
from proxy import Proxy
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from restclient import Rest
from tails import Tail, becomes, stream

POLL_S = 0.5
PROBED_S = 6
START_S = 10
ACCOUNT = "nobody"  # as root pgbouncer does not run

pytestmark = pytest.mark.needs("pgbouncer", package="pgbouncer")

CONFIGURATION = """
[databases]
* = host={host} port={port} user={user} password={password}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 5
max_client_conn = 200
"""


@contextmanager
def pgbouncer(dsn: str, folder: Path) -> Iterator[str]:
    """The DSN that leads to the same database by way of a pgbouncer in transaction mode."""
    own_port = _free_port()
    server = conninfo_to_dict(dsn)
    password = Path(str(server["passfile"])).read_text().strip().rsplit(":", 1)[1]
    path = folder / "pgbouncer.ini"
    path.write_text(CONFIGURATION.format(**server, password=password, own_port=own_port))
    path.chmod(0o600)
    user = None
    if os.geteuid() == 0:
        user = ACCOUNT
        shutil.chown(path, user)
    command = [shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or "pgbouncer", str(path)]
    process = subprocess.Popen(command, user=user, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        pooled = make_conninfo("", host="127.0.0.1", port=own_port, dbname=server["dbname"], user=server["user"])
        _wait_for(pooled, process)
        yield pooled
    finally:
        process.kill()
        process.wait(10)


def either(dsn: str) -> str:
    """The same DSN, content with the pooler's way of proving who calls and with the server's."""
    return make_conninfo(dsn, require_auth="none,scram-sha-256")


def _free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def _wait_for(dsn: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            psycopg.connect(dsn, connect_timeout=2).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, "pgbouncer ended"
            assert time.monotonic() < deadline, "pgbouncer does not answer"
            time.sleep(0.02)


async def test_with_everything_behind_the_pooler_tails_go_on_by_polling_and_health_says_so(database, engine_folder):
    with (
        pgbouncer(database, engine_folder) as pooled,
        running_hub(pooled, poll_s=POLL_S, probe_s=0.5) as writing,
        running_hub(pooled, poll_s=POLL_S, probe_s=0.5) as reading,
    ):
        async with writing.client() as to_write, reading.client() as to_read, anyio.create_task_group() as tasks:
            writer = Rest(to_write, "p")
            session_id = await writer.create()
            await becomes(to_read, within_s=PROBED_S, live="polling", database="up")
            tail = Tail(to_read, session_id)
            tasks.start_soon(tail.run)
            await becomes(to_read, waiting=1)

            delays = []
            for number in range(12):
                seq = (await writer.append(session_id, f"m{number}"))["seq"]
                began = time.monotonic()
                await tail.reaches(seq, within_s=POLL_S + 1)
                delays.append(tail.arrived[seq] - began)
            assert [content for _, content in tail.seen] == [f"m{number}" for number in range(12)]
            assert sorted(delays)[6] < POLL_S + 0.2, "about poll_s, not the end of the wait"

            async with stream(to_read, session_id) as events:
                assert [(await anext(events))["event"] for _ in range(13)] == ["session.created", *["message.appended"] * 12]
                await writer.append(session_id, "streamed")
                with anyio.fail_after(POLL_S + 1):
                    assert '"streamed"' in (await anext(events))["data"]
            assert (await to_read.get("/healthz")).json()["live"] == "polling"
            tasks.cancel_scope.cancel()


async def test_a_writer_s_own_readers_do_not_wait_for_the_poll(database, engine_folder):
    with pgbouncer(database, engine_folder) as pooled, running_hub(pooled, poll_s=3600) as hub:
        async with hub.client() as http, anyio.create_task_group() as tasks:
            caller = Rest(http, "p")
            session_id = await caller.create()
            tail = Tail(http, session_id)
            tasks.start_soon(tail.run)
            for number in range(20):
                seq = (await caller.append(session_id, f"m{number}"))["seq"]
                await tail.reaches(seq, within_s=2)
            tasks.cancel_scope.cancel()


async def test_the_pooler_can_be_passed_by_for_listening_alone_and_the_hub_goes_back_to_notify_by_itself(database, engine_folder):
    with (
        pgbouncer(database, engine_folder) as pooled,
        Proxy(pooled) as door,
        running_hub(pooled, listen_dsn=database, poll_s=3600) as direct,
        running_hub(pooled, listen_dsn=either(door.dsn(database)), poll_s=POLL_S, probe_s=0.5) as other,
    ):
        async with direct.client() as to_direct, other.client() as to_other:
            await becomes(to_direct, live="notify")
            await becomes(to_other, within_s=PROBED_S, live="polling")
            async with anyio.create_task_group() as tasks:
                caller = Rest(to_other, "p")
                session_id = await caller.create()
                tail = Tail(to_direct, session_id)
                tasks.start_soon(tail.run)
                await becomes(to_direct, waiting=1)
                for number in range(5):
                    seq = (await caller.append(session_id, f"m{number}"))["seq"]
                    await tail.reaches(seq, within_s=2)
                tasks.cancel_scope.cancel()

            door.forward_to(database)  # the operator takes the pooler out of the way; nobody restarts the hub
            await becomes(to_other, within_s=10, live="notify")
