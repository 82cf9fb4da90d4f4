"""A server that is stopped at any moment keeps nobody waiting: the append lock lives for one statement, and that goes on."""

import random
import subprocess
import time

import anyio
import httpx2
import pytest
from agreement import faults, read_log
from fleet import running_fleet
from frozen import AGAIN_AND_AGAIN, IN_A_MIGRATION, IN_A_TRANSACTION, IN_THE_MIDDLE_OF_SENDING, await_stop, freeze, running, thaw
from load import Ledger, Writer, answered, create_sessions, message
from readers import PageReader, StreamReader
from tails import eventually

LOCK_TIMEOUT_S = 5
IDLE_TIMEOUT_S = 10
MARGIN_S = 3
"""For a busy machine."""


async def delays_beside_a_frozen(
    process: subprocess.Popen[bytes], writer: Writer, tries: int, lock_timeout_s: float = LOCK_TIMEOUT_S
) -> list[float]:
    """Stop a process at a random moment, append five times beside it, let it go on; again and again. Returns how long the
    appends took, and ends at the first that was kept waiting."""
    delays: list[float] = []
    for _ in range(tries):
        await anyio.sleep(random.uniform(0, 0.02))  # any moment of its work
        freeze(process)
        try:
            for _ in range(5):
                began = time.monotonic()
                await writer.append(1)
                delays.append(time.monotonic() - began)
        finally:
            thaw(process)
        if max(delays) > lock_timeout_s:
            break
    return delays


async def appends_beside_a_frozen_hub(dsn: str, tries: int) -> None:
    """Keep one of two hubs busy and stop it all the time: the other does not notice, and nothing is lost."""
    with running_fleet(dsn, 2) as fleet:
        async with fleet.clients() as (frozen, other):
            a, b = await create_sessions([other], 2)
            ledger, beside = Ledger(), Ledger()
            busy = [Writer(f"w{n}", [frozen], [a, b], ledger, batch_max=300, others=0.1) for n in range(5)]
            busy += [Writer(f"large{n}", [frozen], [a], ledger, batch_max=3, padding="x" * 100_000) for n in range(2)]
            readers = [
                StreamReader("stream, frozen hub", [frozen], a, f"last-{a}"),
                PageReader("log, frozen hub", [frozen], None, f"last-{b}"),
                PageReader("log, other hub", [other], None, f"last-{b}"),
            ]
            async with anyio.create_task_group() as reading:
                for reader in readers:
                    reading.start_soon(reader.run)
                async with anyio.create_task_group() as writing:
                    for writer in busy:
                        writing.start_soon(writer.run)
                    one = Writer("beside", [other], [a, b], beside)
                    delays = await delays_beside_a_frozen(fleet.hubs[0].process, one, tries)
                    before = [writer.written for writer in busy]
                    await eventually(progress(busy), lambda now: all(b < n for b, n in zip(before, now, strict=True)), 30)
                    for writer in busy:
                        writer.is_to_end = True
                for session_id in (a, b):
                    await answered([other], "POST", f"/v1/sessions/{session_id}/messages", message(f"last-{session_id}"), [])
                reading.cancel_scope.deadline = anyio.current_time() + 30
    print(len(delays), max(delays), sorted(delays)[len(delays) // 2], len(ledger.seqs), ledger.failures, beside.failures)
    assert faults(read_log(dsn), Ledger(ledger.seqs | beside.seqs), readers) == []
    assert len(delays) == 5 * tries
    assert max(delays) < LOCK_TIMEOUT_S
    assert beside.failures == []


def progress(writers: list[Writer]):
    async def look() -> list[int]:
        return [writer.written for writer in writers]

    return look


async def test_a_hub_that_is_stopped_at_any_moment_delays_no_append_of_another(database):
    await appends_beside_a_frozen_hub(database, tries=150)


@pytest.mark.long
async def test_a_hub_that_is_stopped_thousands_of_times_delays_no_append_of_another(database):
    await appends_beside_a_frozen_hub(database, tries=5_000)


async def test_who_holds_the_lock_over_a_round_trip_is_found_out_by_stopping_it(database):
    with running_fleet(database, 1, lock_timeout_s=1) as fleet, running(AGAIN_AND_AGAIN, database) as process:
        async with fleet.clients() as https:
            ledger = Ledger()
            writer = Writer("beside", https, await create_sessions(https, 1), ledger)
            delays = await delays_beside_a_frozen(process, writer, tries=50, lock_timeout_s=1)
    assert max(delays) > 1
    assert "log_busy" in ledger.failures


@pytest.mark.parametrize(
    ("script", "bound_s"),
    [(IN_A_TRANSACTION, IDLE_TIMEOUT_S), (IN_A_MIGRATION, 3), (IN_THE_MIDDLE_OF_SENDING, 4)],
    ids=["transaction", "migration", "sending"],
)
async def test_whoever_is_stopped_while_it_holds_the_lock_loses_it_within_the_bound(database, script, bound_s):
    """Until then appends are refused in time, or wait; what is there is read as ever."""
    with running_fleet(database, 1) as fleet:
        async with fleet.clients() as (http,):
            (session_id,) = await create_sessions([http], 1)
            path = f"/v1/sessions/{session_id}"
            with running(script, database) as process:
                await anyio.to_thread.run_sync(await_stop, process)
                began = time.monotonic()
                waits: list[float] = []
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(keep_reading, http, path, waits)
                    statuses = [await status_in_time(http, path)]
                    while statuses[-1] != 201:
                        statuses.append(await status_in_time(http, path))
                    tasks.cancel_scope.cancel()
                took_s = time.monotonic() - began
                thaw(process)
                assert await anyio.to_thread.run_sync(process.wait, 30) != 0
    assert bound_s / 2 < took_s < bound_s + MARGIN_S
    assert set(statuses) <= {201, 503}
    assert max(waits) < 2


async def status_in_time(http: httpx2.AsyncClient, path: str) -> int:
    with anyio.fail_after(LOCK_TIMEOUT_S + MARGIN_S):
        return (await http.post(f"{path}/messages", json=message("one and the same"))).status_code


async def keep_reading(http: httpx2.AsyncClient, path: str, waits: list[float]) -> None:
    while True:
        began = time.monotonic()
        assert (await http.get(path)).status_code == 200
        waits.append(time.monotonic() - began)
        await anyio.sleep(0.1)  # the reader's pace
