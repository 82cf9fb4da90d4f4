"""Behind pgbouncer in transaction mode LISTEN is accepted and nothing ever comes: the hub finds out, polls, and says so."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import psycopg
import pytest
from hubs import HubProcess, running_hub
from proxy import Proxy
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from restclient import Rest
from tails import Tail, becomes, health, stream

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


@dataclass
class Stage:
    """Two hubs wholly behind the pooler, the second with a door in the LISTEN connection's way; one that listens past it."""

    writing: HubProcess
    reading: HubProcess
    direct: HubProcess
    door: Proxy
    pooled: str


@pytest.fixture(scope="module")
def stage(module_database: str) -> Iterator[Stage]:
    with tempfile.TemporaryDirectory(prefix="tasuki-test-") as folder:
        Path(folder).chmod(0o711)
        with (
            pgbouncer(module_database, Path(folder)) as pooled,
            Proxy(pooled) as door,
            running_hub(pooled, poll_s=3600, probe_s=0.5) as writing,
            running_hub(pooled, poll_s=POLL_S, probe_s=0.5, listen_dsn=either(door.dsn(module_database))) as reading,
            running_hub(pooled, poll_s=3600, listen_dsn=module_database) as direct,
        ):
            yield Stage(writing, reading, direct, door, pooled)


@asynccontextmanager
async def scene(writing: HubProcess, reading: HubProcess, live: str) -> AsyncIterator[tuple[Rest, httpx2.AsyncClient, Tail]]:
    """A writer at one hub, and a tail at another, which says that it is `live` so."""
    async with writing.client() as to_write, reading.client() as to_read, anyio.create_task_group() as tasks:
        writer = Rest(to_write, "p")
        tail = Tail(to_read, await writer.create())
        await becomes(to_read, within_s=PROBED_S, live=live, waiting=0)
        tasks.start_soon(tail.run)
        await becomes(to_read, waiting=1)
        yield writer, to_read, tail
        tasks.cancel_scope.cancel()


async def delays_of(writer: Rest, tail: Tail, count: int, within_s: float) -> list[float]:
    """Append and see it in the tail, so many times; the seconds from the answer to the reader, shortest first."""
    delays = []
    for number in range(count):
        seq = (await writer.append(tail.session_id, f"m{number}"))["seq"]
        began = time.monotonic()
        await tail.reaches(seq, within_s)
        delays.append(tail.arrived[seq] - began)
    assert [content for _, content in tail.seen] == [f"m{number}" for number in range(count)]
    return sorted(delays)


async def test_with_everything_behind_the_pooler_tails_go_on_by_polling_and_health_says_so(stage):
    async with scene(stage.writing, stage.reading, live="polling") as (writer, to_read, tail):
        delays = await delays_of(writer, tail, 12, within_s=POLL_S + 1)
        assert delays[6] < POLL_S + 0.2, "about poll_s, not the end of the wait"

        async with stream(to_read, tail.session_id) as events:
            assert [(await anext(events))["event"] for _ in range(13)] == ["session.created", *["message.appended"] * 12]
            await writer.append(tail.session_id, "streamed")
            with anyio.fail_after(POLL_S + 1):
                assert '"streamed"' in (await anext(events))["data"]
        said = await health(to_read)
        assert (said["live"], said["database"]) == ("polling", "up")


async def test_a_writer_s_own_readers_do_not_wait_for_the_poll(stage):
    async with scene(stage.writing, stage.writing, live="polling") as (writer, _, tail):
        await delays_of(writer, tail, 20, within_s=2)


async def test_the_pooler_can_be_passed_by_for_listening_alone(stage):
    async with scene(stage.writing, stage.direct, live="notify") as (writer, _, tail):
        await delays_of(writer, tail, 5, within_s=2)


async def test_what_needs_a_session_of_its_own_is_refused_and_nothing_is_half_done(stage):
    async with stage.writing.client() as http:
        rest = Rest(http, "p")
        session = await rest.create()
        await rest.append(session, "still there")
        purge = json.dumps({"session_id": session})
        for path, body in (("projections/sessions/rebuild", None), ("projections/sessions/verify", None), ("purge", purge)):
            response = await http.post(f"/v1/admin/{path}", content=body)
            error = json.loads(response.text.splitlines()[-1])["error"]
            assert (error["code"], error["retryable"]) == ("pooled_connection", False)
            assert "TASUKI_LISTEN_DSN" in error["detail"]
        assert await rest.texts(session) == ["still there"]
    async with stage.direct.client() as http:
        response = await http.post("/v1/admin/projections/sessions/verify")
        assert json.loads(response.text.splitlines()[-1])["result"]["differences"] == []


def test_a_worker_whose_lock_would_be_nobody_s_does_not_start_and_a_hub_says_so_once(stage, tmp_path):
    command = [sys.executable, "-m", "cli.main", "worker", "archive"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TASUKI_DATA_DIR": str(tmp_path), "TASUKI_DSN": stage.pooled}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "[pooled_connection]" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "archive").exists()
    for hub, count in ((stage.writing, 1), (stage.direct, 0)):
        assert len([line for line in hub.log_lines() if line.get("code") == "pooled_connection"]) == count


async def test_when_the_pooler_is_taken_out_of_the_way_the_hub_goes_back_to_notify_by_itself(stage, module_database):
    async with stage.reading.client() as http:
        await becomes(http, within_s=PROBED_S, live="polling")
        stage.door.forward_to(module_database)
        await becomes(http, within_s=10, live="notify")
