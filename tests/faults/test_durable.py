"""What was acknowledged is there after any crash, the log stays dense, and nobody waits for ever."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio
import anyio.to_thread
import httpx2
import psycopg
import pytest
from agreement import expected, faults, ledger_faults, log_faults, read_log, reader_faults
from crash import kill_backend, kill_postgres
from fleet import Fleet, running_fleet
from load import Ledger, Writer, answered, create_sessions, message
from plants import ASYNCHRONOUS, edit
from readers import PageReader, Reader, StreamReader
from tails import becomes, eventually

from eventstore.embedded import EmbeddedPostgres

HUBS, WRITERS = 2, 8
GOES_ON_S = 30
"""After a crash, and with everything started again, each writer and reader goes on within this time."""
ANSWERED_S = 20
"""With the database away, each request is answered within this time."""
CRASHES = ["one hub", "all hubs", "the database", "one backend", "everything"]


@dataclass
class Scene:
    """Hubs and their database, which are killed, and those who use them."""

    postgres: EmbeddedPostgres
    dsn: str
    fleet: Fleet
    writers: list[Writer]
    readers: list[Reader]
    ledger: Ledger

    async def crash(self, what: str) -> None:
        """Kill, and start again what does not do so by itself."""
        hubs = {"one hub": [random.randrange(HUBS)], "all hubs": range(HUBS), "everything": range(HUBS)}.get(what, [])
        if what == "one backend":
            kill_backend(self.dsn)
        for place in hubs:
            self.fleet.hubs[place].process.kill()
        if what in ("the database", "everything"):
            kill_postgres(self.postgres.data_dir)
            assert await anyio.to_thread.run_sync(self.postgres.start) == self.dsn
        for place in hubs:
            self.fleet.kill(place)
            self.fleet.restart(place)

    async def goes_on(self) -> None:
        """Return when each writer was answered again, and each reader has seen what was appended after that."""

        async def written() -> list[int]:
            return [writer.written for writer in self.writers]

        async def read() -> int:
            return min(reader.after_seq for reader in self.readers)

        before = await written()
        await eventually(written, lambda now: all(b < n for b, n in zip(before, now, strict=True)), GOES_ON_S)
        reached = max(self.ledger.seqs.values())
        await eventually(read, lambda now: now >= reached, GOES_ON_S)

    def faults(self) -> list[str]:
        """What is wrong so far, while all goes on: readers may be behind, and have passed over nothing."""
        told = Ledger(dict(self.ledger.seqs))
        seen = [(reader, list(reader.seen)) for reader in self.readers]
        log = read_log(self.dsn)
        found = log_faults(log) + ledger_faults(log, told)
        for reader, so_far in seen:
            wanted = [event for event in expected(log, reader) if so_far and event[0] <= so_far[-1][0]]
            found += [f"{reader.name}: {fault}" for fault in reader_faults(so_far, wanted)]
        return found


async def rounds_of_crashes(postgres: EmbeddedPostgres, dsn: str, crashes: list[str]) -> Scene:
    """Under load, crash at a random moment, see that all goes on and is as it was told; again and again."""
    with running_fleet(dsn, HUBS) as fleet:
        async with fleet.clients() as https:
            a, b = await create_sessions(https, 2)
            log_id = (await https[0].get("/healthz")).json()["log_id"]
            ledger = Ledger()
            writers = [Writer(f"w{n}", https, [a, b], ledger, others=0.05, within_s=GOES_ON_S) for n in range(WRITERS)]
            readers = [
                PageReader("log", https, None, f"last-{b}"),
                PageReader("pages", https[:1], a, f"last-{a}"),
                StreamReader("stream, one hub", https[1:], b, f"last-{b}"),
                StreamReader("stream", https, a, f"last-{a}"),
            ]
            scene = Scene(postgres, dsn, fleet, writers, readers, ledger)
            async with anyio.create_task_group() as reading:
                for reader in readers:
                    reading.start_soon(reader.run)
                async with anyio.create_task_group() as writing:
                    for writer in writers:
                        writing.start_soon(writer.run)
                    for crash in crashes:
                        await anyio.sleep(random.uniform(0.05, 1))  # the crash comes at any moment
                        await scene.crash(crash)
                        await scene.goes_on()
                        assert scene.faults() == []
                    for writer in writers:
                        writer.is_to_end = True
                for session_id in (a, b):
                    path = f"/v1/sessions/{session_id}/messages"
                    ledger.note(await answered(https, "POST", path, message(f"last-{session_id}"), [], GOES_ON_S))
                reading.cancel_scope.deadline = anyio.current_time() + GOES_ON_S
            assert (await https[0].get("/healthz")).json()["log_id"] == log_id
    return scene


async def test_after_any_crash_what_was_acknowledged_is_there_and_all_goes_on(make_cluster):
    postgres = make_cluster(fsync=True)
    scene = await rounds_of_crashes(postgres, postgres.start(), random.sample(CRASHES, len(CRASHES)))
    assert faults(read_log(scene.dsn), scene.ledger, scene.readers) == []


@pytest.mark.long
async def test_after_fifty_crashes_what_was_acknowledged_is_there(make_cluster):
    postgres = make_cluster(fsync=True)
    crashes = CRASHES * 10
    random.shuffle(crashes)
    scene = await rounds_of_crashes(postgres, postgres.start(), crashes)
    assert faults(read_log(scene.dsn), scene.ledger, scene.readers) == []


async def test_while_the_database_is_away_everyone_is_answered_and_afterwards_goes_on(make_cluster):
    postgres = make_cluster(fsync=True)
    dsn = postgres.start()
    with running_fleet(dsn, 1, program="impatient") as fleet:
        async with fleet.clients() as (http,), anyio.create_task_group() as tasks:
            (session_id,) = await create_sessions([http], 1)
            path = f"/v1/sessions/{session_id}"
            stream = StreamReader("stream", [http], session_id, "last")
            tasks.start_soon(stream.run)
            await becomes(http, waiting=1)
            kill_postgres(postgres.data_dir)

            answers: dict[str, int] = {}
            with anyio.fail_after(ANSWERED_S):
                async with anyio.create_task_group() as asking:
                    asking.start_soon(ask, answers, "append", http.post(f"{path}/messages", json=message("lost or not")))
                    asking.start_soon(ask, answers, "read", http.get(path))
                    asking.start_soon(ask, answers, "wait", http.get(path, params={"wait": 2}))
                    asking.start_soon(ask, answers, "follow", http.get(f"{path}/events"))
                    asking.start_soon(ask, answers, "ready", http.get("/readyz"))
                    asking.start_soon(ask, answers, "health", http.get("/healthz"))
            assert answers == {"append": 503, "read": 503, "wait": 503, "follow": 503, "ready": 503, "health": 200}
            await becomes(http, database="down", live="polling", status="ok")

            postgres.start()
            await becomes(http, database="up", live="notify", within_s=GOES_ON_S)
            await answered([http], "POST", f"{path}/messages", message("last"), [], GOES_ON_S)
            await eventually(seen_by(stream), bool, GOES_ON_S)


def seen_by(reader: Reader) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return reader.is_done

    return look


async def ask(answers: dict[str, int], name: str, request: Awaitable[httpx2.Response]) -> None:
    answers[name] = (await request).status_code


@pytest.mark.parametrize("default", ["off", "local", "remote_write"])
async def test_an_append_is_committed_synchronously_whatever_the_database_says(database, default):
    with psycopg.connect(database, options=f"-c synchronous_commit={default}") as connection:
        append_nothing(connection)
        assert connection.execute("show synchronous_commit").fetchone() == ("on",)
        connection.commit()
        assert connection.execute("show synchronous_commit").fetchone() == (default,)


def append_nothing(connection: psycopg.Connection) -> None:
    """Call `append_events` with every argument an empty array."""
    (count,) = connection.execute("select pronargs from pg_proc where proname = 'append_events'").fetchone() or (0,)
    connection.execute(f"select * from store.append_events({', '.join(['{}'] * count)})".replace("{}", "'{}'"))


@pytest.mark.parametrize("is_planted", [False, True])
async def test_a_database_that_commits_asynchronously_loses_nothing_of_it_in_a_crash(make_cluster, is_planted):
    """With the bug planted, it does: PostgreSQL then writes the log of its changes to disk in its own time."""
    postgres = make_cluster(fsync=True, synchronous_commit="off", wal_writer_delay="10s")
    dsn = postgres.start()
    ledger = Ledger()
    with running_fleet(dsn, 1) as fleet:
        async with fleet.clients() as https:
            writer = Writer("w", https, await create_sessions(https, 1), ledger)
            if is_planted:
                for function in ("append_events", "append_message"):
                    edit(dsn, function, *ASYNCHRONOUS)
            await writer.run(50)
            kill_postgres(postgres.data_dir)
            postgres.start()
    found = faults(read_log(dsn), ledger)
    assert [fault.split(":")[0] for fault in found] == (["lost"] if is_planted else [])
