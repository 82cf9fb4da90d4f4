"""Followers of the log: killed anywhere, none folds an event twice or leaves one out. Of two drivers one stands by."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import psycopg
import pytest
from hubs import HubProcess, running_hub
from restclient import Rest
from with_followers import FOLDER, NAMES, register

from bench.fill import fill
from eventstore.db import Database
from eventstore.settings import Settings
from projections.rebuild import Progress, rebuild
from projections.verify import Difference, verify
from sql import migrate

REPOSITORY = Path(__file__).parents[2]
EVENTS, RANGE_EVENTS = 12_000, 10
KILLS = 15
FOLD = "create or replace function store.fold_tallies(from_seq bigint, to_seq bigint) returns void language sql as"
SLOW, BROKEN = f"{FOLD} 'select pg_sleep(20)'", f"{FOLD} 'select 1 / 0'"
DRIVING = "select pid from pg_locks where locktype = 'advisory' and classid = 1952543595"


@pytest.fixture
def log(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The DSN of a log that has the tests' followers, which nobody drives yet; this process knows them too."""
    monkeypatch.setattr(migrate, "PROJECTION_FOLDERS", migrate.PROJECTION_FOLDERS)
    register()
    migrate.migrate(database)
    return database


@contextmanager
def drivers(dsn: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that drives the followers, in small ranges; it has begun to look for work."""
    process = subprocess.Popen(
        [sys.executable, "-m", "following", dsn, str(RANGE_EVENTS)],
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(FOLDER.parent), "PATH": ""},
    )
    assert process.stdout
    try:
        assert process.stdout.readline() == b"begun\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def tell(progress: Progress) -> None:
    """Nobody listens."""


async def differences_of(dsn: str) -> list[Difference]:
    database = Database(Settings(), dsn)
    await database.open()
    try:
        return [one for name in NAMES for one in await verify(database, name, tell)]
    finally:
        await database.close()


def differences(dsn: str) -> list[Difference]:
    return anyio.run(differences_of, dsn)


def until(dsn: str, is_so: Callable[[dict[str, tuple[int, int]]], bool], within_s: float = 60) -> dict[str, tuple[int, int]]:
    """(checkpoint, head) of each follower, when they are so."""
    deadline, found = time.monotonic() + within_s, dict[str, tuple[int, int]]()
    with psycopg.connect(dsn, autocommit=True) as connection:
        while time.monotonic() < deadline:
            rows = connection.execute("select name, seq, head_seq from store.list_checkpoints()").fetchall()
            found = {name: (seq, head) for name, seq, head in rows}
            if is_so(found):
                return found
            time.sleep(0.02)
    raise AssertionError(f"they stand at {found}")


def are_at_the_head(found: dict[str, tuple[int, int]]) -> bool:
    return all(seq == head for seq, head in found.values())


def caught_up_with(dsn: str, seq: int) -> None:
    """Return when every follower is past a seq."""
    until(dsn, lambda found: all(done > seq for done, _ in found.values()))


def until_driven(connection: psycopg.Connection) -> None:
    """Return when each follower has a driver."""
    deadline = time.monotonic() + 20
    while len(connection.execute(DRIVING.encode()).fetchall()) < len(NAMES):
        assert time.monotonic() < deadline, "nobody drives them"
        time.sleep(0.02)


@contextmanager
def writing(hub: HubProcess, appends_s: list[float] | None = None) -> Iterator[None]:
    """Somebody writes until the context closes; what went wrong for them fails the test."""
    stop, wrong = threading.Event(), list[str]()

    async def write(http: httpx2.AsyncClient) -> None:
        rest = Rest(http, "load")
        while not stop.is_set():
            session = await rest.create()
            for n in range(20):
                began = time.monotonic()
                await rest.append(session, f"number {n}")
                if appends_s is not None:
                    appends_s.append(time.monotonic() - began)
            await rest.snapshot(session)

    async def several() -> None:
        async with hub.client() as http, anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(write, http)

    def run() -> None:
        try:
            anyio.run(several)
        except BaseException as error:  # noqa: BLE001  # told to the test, whatever it is
            wrong.append(repr(error))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)
    assert wrong == []


def test_killed_at_any_point_under_load_every_event_is_folded_once(log: str):
    fill(log, EVENTS)
    draw = random.Random(11)
    stood: list[int] = []
    with running_hub(log, archive="off") as hub, writing(hub):
        for _ in range(KILLS):
            with drivers(log):
                time.sleep(draw.uniform(0, 0.5))
            stood.append(until(log, lambda found: True)["tallies"][0])
    assert stood == sorted(stood)
    assert len(set(stood)) > KILLS // 2, "most were killed at their work"
    assert differences(log) == []
    with drivers(log):
        until(log, are_at_the_head)
    assert differences(log) == []
    with psycopg.connect(log) as connection:
        (folded,) = connection.execute("select sum(events), sum(seqs) from store.tallies").fetchall()
        assert connection.execute("select count(*), sum(seq) from store.log").fetchall() == [folded]


def test_of_two_drivers_one_works_and_the_other_takes_over(log: str):
    fill(log, EVENTS)
    with drivers(log) as first, running_hub(log, archive="off") as hub:
        until(log, are_at_the_head)
        with drivers(log), writing(hub):
            with psycopg.connect(log, autocommit=True) as connection:
                assert len(connection.execute(DRIVING).fetchall()) == len(NAMES)
            before = until(log, lambda found: True)
            until(log, lambda found: all(found[name][0] > before[name][0] for name in NAMES))
            first.kill()
            first.wait()
            before = until(log, lambda found: True)
            until(log, lambda found: all(found[name][0] > before[name][0] + 100 for name in NAMES))
        with drivers(log):
            until(log, are_at_the_head)
    assert differences(log) == []


def test_one_that_is_slow_delays_no_append_and_no_other_follower(log: str):
    with psycopg.connect(log, autocommit=True) as connection:
        connection.execute(SLOW.encode())
        appends_s: list[float] = []
        with running_hub(log, program="with_followers", archive="off") as hub, writing(hub, appends_s):
            until(log, lambda found: found["kinds"][0] > 200)
            assert until(log, lambda found: True)["tallies"][0] == 0
            sleeps = f"select count(*) from pg_stat_activity where wait_event = 'PgSleep' and pid in ({DRIVING})"
            assert connection.execute(sleeps.encode()).fetchone() == (1,), "it was at it all the time"
        assert sorted(appends_s)[len(appends_s) * 99 // 100] < 2


def test_one_whose_connection_is_cut_follows_on(log: str):
    with running_hub(log, program="with_followers", archive="off") as hub, psycopg.connect(log, autocommit=True) as connection:
        until(log, are_at_the_head)
        with writing(hub):
            for _ in range(3):
                until_driven(connection)
                connection.execute(f"select pg_terminate_backend(pid) from ({DRIVING}) d".encode())
                caught_up_with(log, max(until(log, lambda found: True)["kinds"]))
        until(log, are_at_the_head)
    assert differences(log) == []


def test_an_idle_one_holds_no_transaction_open(log: str):
    with running_hub(log, program="with_followers", archive="off"), psycopg.connect(log, autocommit=True) as connection:
        until_driven(connection)
        until(log, are_at_the_head)
        began_at, deadline = transactions(connection), time.monotonic() + 3
        while time.monotonic() < deadline:
            states = connection.execute(f"select distinct state from pg_stat_activity where pid in ({DRIVING})".encode()).fetchall()
            assert not {("idle in transaction",), ("idle in transaction (aborted)",)} & set(states)
            time.sleep(0.05)
        assert transactions(connection) - began_at < 5, "looking writes nothing"


def transactions(connection: psycopg.Connection) -> int:
    """How many have written so far, this one among them."""
    ((number,),) = connection.execute("select pg_current_xact_id()::text::bigint").fetchall()
    return int(number)


async def test_one_that_fails_is_shown_and_goes_on_when_it_is_mended(log: str):
    with psycopg.connect(log, autocommit=True) as connection:
        connection.execute(BROKEN.encode())
        with running_hub(log, program="with_followers", archive="off") as hub:
            async with hub.client() as http:
                rest = Rest(http, "p")
                session = await rest.create()
                await rest.append(session)
                kinds, tallies = await listed(rest, lambda kinds, tallies: kinds["lag"] == 0 and tallies["tries"] > 0)
                assert (kinds["tries"], kinds["last_error"], kinds["next_try_at"]) == (0, None, None)
                assert (tallies["checkpoint"], tallies["lag"]) == (0, 2)
                assert "SQLSTATE 22012" in tallies["last_error"]
                told = await anyio.to_thread.run_sync(status_for_people, hub)
                assert "  follows, 2 behind\n" in told
                assert "again at 20" in told
                assert tallies["last_error"].partition(" failed")[0] in told
                fold = (FOLDER / "tallies.sql").read_text("utf-8").partition("create function ")[2]
                connection.execute("set search_path = store")
                connection.execute(f"create or replace function {fold}".encode())
                _, tallies = await listed(rest, lambda kinds, tallies: tallies["lag"] == 0)
                assert (tallies["checkpoint"], tallies["tries"], tallies["last_error"]) == (2, 0, None)
    assert await differences_of(log) == []


def status_for_people(hub: HubProcess) -> str:
    command = [sys.executable, "-m", "cli.main", "projections", "status"]
    env = {"TASUKI_URL": hub.url, "TASUKI_TOKEN": hub.token, "PATH": ""}
    return subprocess.run(command, cwd=REPOSITORY, env=env, check=True, capture_output=True, text=True).stdout


async def listed(rest: Rest, are_so: Callable[[dict, dict], bool]) -> tuple[dict, dict]:
    """Both followers as the hub lists them, when they are so."""
    with anyio.fail_after(30):
        while True:
            known = {one["name"]: one for one in (await rest.call("GET", "/v1/admin/projections"))["projections"]}
            if are_so(known["kinds"], known["tallies"]):
                return known["kinds"], known["tallies"]
            await anyio.sleep(0.05)


def test_rebuilt_while_it_is_driven_and_written_to_it_is_right(log: str):
    fill(log, EVENTS)

    async def rebuild_all() -> None:
        database = Database(Settings(), log)
        await database.open()
        try:
            for name in NAMES:
                await rebuild(database, name, tell)
        finally:
            await database.close()

    with running_hub(log, archive="off") as hub, writing(hub), drivers(log):
        for _ in range(3):
            anyio.run(rebuild_all)
            assert differences(log) == []
    with drivers(log):
        until(log, are_at_the_head)
    assert differences(log) == []
