"""A lost wake-up costs delay, never data: whatever happens to the LISTEN connection, tails go on, and /healthz says how."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
from hubs import HubProcess, running_hub
from proxy import Proxy, proxied
from restclient import Rest
from tails import Tail, becomes, eventually

POLL_S = 0.5
PROBE_S = 0.5
PROBED_S = PROBE_S + 2 + 1  # the probe's turn, its wait, and some for a busy machine
SEEN_S = POLL_S + 1
NEVER_S = 3600
KILL_LISTENERS = """
select count(pg_terminate_backend(pid)) from pg_stat_activity where query = 'listen tasuki' and datname = current_database()
"""
MUTE = """
create or replace function store.notify_appended(from_seq bigint, to_seq bigint) returns void language plpgsql as $$
begin
end $$
"""
NONSENSE = ["", "nonsense", "12 x", "1 2 x", "? unknown", "1", "7 7 7 7", "9 3 *", "-5 -5 *", "*", "襷"]


@dataclass
class Scene:
    """Two hubs: one is written to, the other is read, and listens by way of a proxy. A session, and a tail at its end."""

    writer: Rest
    reader: httpx2.AsyncClient
    proxy: Proxy
    session_id: str
    tail: Tail

    async def sees(self, content: str, within_s: float) -> float:
        """Append at one hub and return after how many seconds the tail at the other had it."""
        seq = (await self.writer.append(self.session_id, content))["seq"]
        began = time.monotonic()
        await self.tail.reaches(seq, within_s)
        assert self.tail.seen[-1] == (seq, content)
        return self.tail.arrived[seq] - began


@dataclass
class Stage:
    """The hubs of this file: one to write to, one to read from, and one to read from that never polls."""

    writing: HubProcess
    reading: HubProcess
    patient: HubProcess
    proxy: Proxy


@pytest.fixture(scope="module")
def stage(module_database: str) -> Iterator[Stage]:
    with (
        proxied(module_database) as (proxy, listen_dsn),
        running_hub(module_database) as writing,
        running_hub(module_database, listen_dsn=listen_dsn, probe_s=PROBE_S, poll_s=POLL_S) as reading,
        running_hub(module_database, listen_dsn=listen_dsn, probe_s=PROBE_S, poll_s=NEVER_S) as patient,
    ):
        yield Stage(writing, reading, patient, proxy)


@asynccontextmanager
async def scene(stage: Stage, reading: HubProcess) -> AsyncIterator[Scene]:
    stage.proxy.resume()
    async with stage.writing.client() as to_write, reading.client() as to_read, anyio.create_task_group() as tasks:
        writer = Rest(to_write, "p")
        session_id = await writer.create()
        await becomes(to_read, live="notify", waiting=0)
        tail = Tail(to_read, session_id)
        tasks.start_soon(tail.run)
        await becomes(to_read, waiting=1)
        yield Scene(writer, to_read, stage.proxy, session_id, tail)
        tasks.cancel_scope.cancel()


async def test_while_notices_arrive_a_tail_has_a_message_long_before_the_poll(stage):
    async with scene(stage, stage.patient) as hubs:
        delays = [await hubs.sees(f"m{number}", within_s=2) for number in range(20)]
        assert sorted(delays)[10] < 0.2


async def test_when_notices_are_swallowed_the_tail_goes_on_by_polling_and_health_says_so(stage):
    async with scene(stage, stage.reading) as hubs:
        hubs.proxy.block()
        for number in range(5):
            await hubs.sees(f"while blocked {number}", within_s=SEEN_S)
        await becomes(hubs.reader, live="polling", database="up", within_s=PROBED_S)
        await hubs.sees("while it says polling", within_s=SEEN_S)

        hubs.proxy.resume()
        await becomes(hubs.reader, live="notify", within_s=10)
        await hubs.sees("after", within_s=SEEN_S)
        contents = [content for _, content in hubs.tail.seen]
        assert contents == [*(f"while blocked {number}" for number in range(5)), "while it says polling", "after"]


async def test_when_the_listen_connection_is_cut_health_says_polling_at_once_and_it_comes_back(stage):
    async with scene(stage, stage.reading) as hubs:
        hubs.proxy.cut()
        await becomes(hubs.reader, live="polling", within_s=1)
        await hubs.sees("while cut", within_s=SEEN_S)
        hubs.proxy.resume()
        await becomes(hubs.reader, live="notify", within_s=5)
        assert await hubs.sees("after", within_s=SEEN_S) < POLL_S


async def test_a_listen_connection_that_fell_silent_is_replaced(stage):
    """Half open: the other end is gone, and nobody said so. Only a new connection helps."""
    async with scene(stage, stage.reading) as hubs:
        hubs.proxy.strand()
        await hubs.sees("while deaf", within_s=SEEN_S)
        await becomes(hubs.reader, live="polling", within_s=PROBED_S)
        await becomes(hubs.reader, live="notify", within_s=15)
        assert await hubs.sees("after", within_s=SEEN_S) < POLL_S


async def test_what_was_appended_while_nobody_listened_is_seen_on_reconnecting_without_waiting_for_the_poll(stage):
    async with scene(stage, stage.patient) as hubs:
        hubs.proxy.cut()
        await becomes(hubs.reader, live="polling", within_s=2)
        seq = (await hubs.writer.append(hubs.session_id, "missed"))["seq"]
        hubs.proxy.resume()
        await hubs.tail.reaches(seq, within_s=5)


async def test_nothing_is_lost_or_doubled_while_listen_backends_are_killed_in_a_tail(stage, module_database):
    async with scene(stage, stage.reading) as hubs:
        killed = last = 0
        for number in range(300):
            last = (await hubs.writer.append(hubs.session_id, str(number)))["seq"]
            if number % 15 == 0:
                killed += sql(module_database, KILL_LISTENERS)
        await hubs.tail.reaches(last, within_s=SEEN_S)
        assert [content for _, content in hubs.tail.seen] == [str(number) for number in range(300)]
        assert killed >= 10
        await becomes(hubs.reader, live="notify")


async def test_a_notice_lost_among_others_that_arrive_costs_no_more_than_the_poll(stage, module_database):
    async with scene(stage, stage.reading) as hubs:
        other = await hubs.writer.create()
        told = sql(module_database, "select pg_get_functiondef('store.notify_appended'::regproc)")
        for number in range(5):
            sql(module_database, MUTE)
            seq = (await hubs.writer.append(hubs.session_id, f"not told {number}"))["seq"]
            sql(module_database, told)
            await hubs.writer.append(other, "told")
            await hubs.tail.reaches(seq, within_s=SEEN_S)


async def test_an_append_is_seen_by_its_own_server_s_readers_though_the_session_s_facts_were_just_forgotten(stage, module_database):
    """A patch of the meta makes the server forget what it knows of a session while an append to it, in the other lane, commits;
    and the notice of it comes after the answer."""
    async with stage.patient.client() as http, anyio.create_task_group() as tasks:
        stage.proxy.resume()
        rest = Rest(http, "p")
        session_id = await rest.create()
        await becomes(http, live="notify", waiting=0)
        tail = Tail(http, session_id)
        tasks.start_soon(tail.run)
        for number in range(3):
            seqs: list[int] = []

            async def append(large: str = f"{number}" * 70_000, seqs: list[int] = seqs) -> None:
                seqs.append((await rest.append(session_id, large))["seq"])

            async with anyio.create_task_group() as writers:
                with append_lock(module_database) as waits:
                    writers.start_soon(rest.call, "PATCH", f"/v1/sessions/{session_id}", {"n": number})
                    await waits(1)
                    writers.start_soon(append)
                    await waits(2)
                    stage.proxy.block()
            stage.proxy.resume()
            await tail.reaches(seqs[0], within_s=3)
        tasks.cancel_scope.cancel()


async def test_a_notice_that_makes_no_sense_harms_nobody(stage, module_database):
    async with scene(stage, stage.reading) as hubs:
        for payload in NONSENSE:
            sql(module_database, "select pg_notify('tasuki', %s)", payload)
            await hubs.sees(f"after {payload!r}", within_s=SEEN_S)
        assert (await hubs.reader.get("/healthz")).json()["live"] == "notify"
        sql(module_database, "select pg_notify('tasuki', '1 99999999999999999999 1')")
        await hubs.tail.reaches(hubs.tail.after_seq)
        await hubs.sees("still noticed", within_s=SEEN_S)


@contextmanager
def append_lock(dsn: str) -> Iterator[Callable[[int], Awaitable[None]]]:
    """Hold the log's append lock; gives a function that returns when so many wait for it."""
    with psycopg.connect(dsn) as connection:
        connection.execute("select store.lock_log()")

        async def waiting() -> int:
            row = connection.execute("select count(*) from pg_locks where locktype = 'advisory' and not granted").fetchone()
            return row[0] if row else 0

        async def waits(count: int) -> None:
            await eventually(waiting, lambda seen: seen == count)

        yield waits
        connection.rollback()


def sql(dsn: str, statement: str, *values: str) -> Any:
    """Run one statement and return the first value of its answer, if it has one."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.execute(statement, values or None)
        return (cursor.fetchone() or (None,))[0] if cursor.description else None
