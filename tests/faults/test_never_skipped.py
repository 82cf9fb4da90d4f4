"""Nobody is passed over: every reader gets every event, once, in order, whichever server it asks and whatever dies meanwhile."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import httpx2
import pytest
from agreement import faults, read_log
from backends import LISTENERS, keep_terminating
from fleet import Fleet, mixed_fleet, running_fleet
from load import Ledger, Refused, Writer, answered, create_sessions, message
from plants import CACHED_SEQUENCE, NO_LOCK, NUMBER_BEFORE_LOCK, PLAIN_SEQUENCE, number_by_sequence, plant
from readers import PageReader, Reader, StreamReader
from tails import Tail

HUBS, WRITERS, SESSIONS = 4, 16, 5
IDLE_CLOSED = {"ReadError", "RemoteProtocolError"}  # a kept connection that the hub let go as the next request came


@dataclass
class Run:
    """What became of a load: faults found, and how it went."""

    faults: list[str]
    ledger: Ledger
    readers: list[Reader]
    ended: list[int]

    @property
    def failures(self) -> list[str]:
        return self.ledger.failures + [failure for reader in self.readers for failure in reader.failures]


def eight_readers(https: list[httpx2.AsyncClient], session_ids: list[str]) -> list[Reader]:
    """Of the log and of sessions, as pages and as streams; some stay with a hub, others ask each in turn."""
    a, b, c, *_ = session_ids
    return [
        PageReader("log, one hub", https[:1], None, f"last-{session_ids[-1]}"),
        PageReader("log, all hubs", https, None, f"last-{session_ids[-1]}"),
        PageReader("pages, one hub", https[1:2], a, f"last-{a}"),
        PageReader("pages, another hub", https[2:3], b, f"last-{b}"),
        PageReader("pages, all hubs", https, a, f"last-{a}"),
        StreamReader("stream, one hub", https[3:], b, f"last-{b}"),
        StreamReader("stream, another hub", https[:1], a, f"last-{a}"),
        StreamReader("stream, all hubs", https, c, f"last-{c}"),
    ]


async def under_load(
    fleet: Fleet, dsn: str, appends: int, patience_s: float, break_log: Callable[[str], None] = lambda dsn: None
) -> Run:
    """Let writers append while readers follow and LISTEN backends are killed; then compare. `break_log` comes first."""
    ended: list[int] = []
    ledger = Ledger()
    async with fleet.clients() as https:
        session_ids = await create_sessions(https, SESSIONS)
        break_log(dsn)
        readers = eight_readers(https, session_ids)
        writers = [Writer(f"w{n}", https, session_ids, ledger, others=0.05) for n in range(WRITERS)]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keep_terminating, dsn, LISTENERS, (0.05, 0.3), ended)
            async with anyio.create_task_group() as reading:
                for reader in readers:
                    reading.start_soon(reader.run)
                async with anyio.create_task_group() as writing:
                    for writer in writers:
                        writing.start_soon(writer.run, appends // WRITERS)
                for session_id in session_ids:
                    path, last = f"/v1/sessions/{session_id}/messages", message(f"last-{session_id}")
                    ledger.note(await answered(https, "POST", path, last, ledger.failures))
                reading.cancel_scope.deadline = anyio.current_time() + patience_s
            tasks.cancel_scope.cancel()
    return Run(faults(read_log(dsn), ledger, readers), ledger, readers, ended)


async def test_every_reader_has_every_event_once_and_in_order_while_listeners_are_killed(database):
    with running_fleet(database, HUBS) as fleet:
        run = await under_load(fleet, database, appends=20_000, patience_s=30)
    assert run.faults == []
    assert len(run.ledger.seqs) == 20_000 + SESSIONS
    assert len(run.ended) >= 20
    assert set(run.failures) <= IDLE_CLOSED


@pytest.mark.parametrize("numbering", [PLAIN_SEQUENCE, NUMBER_BEFORE_LOCK, CACHED_SEQUENCE], ids=["plain", "before_lock", "cached"])
async def test_a_log_that_numbers_its_events_from_a_sequence_is_found_to_pass_readers_over(database, numbering):
    with running_fleet(database, HUBS) as fleet:
        run = await under_load(
            fleet, database, appends=800, patience_s=2, break_log=lambda dsn: number_by_sequence(dsn, *numbering)
        )
    assert any("missing" in fault for fault in run.faults)


async def test_without_the_append_lock_appends_break(database):
    with running_fleet(database, HUBS) as fleet:
        with pytest.raises(BaseExceptionGroup) as broken:
            await under_load(fleet, database, appends=2_000, patience_s=2, break_log=lambda dsn: plant(dsn, NO_LOCK))
        assert broken.group_contains(Refused, match="SQLSTATE 23505")


async def test_a_read_has_what_another_hub_acknowledged_though_no_notice_came(database, cluster):
    """The reader's hub listens where nothing is ever told, and has looked at the end of the log already."""
    with mixed_fleet(database, [{}, {"listen_dsn": cluster, "poll_s": 3600}]) as fleet:
        async with fleet.clients() as (writing, reading):
            (session_id,) = await create_sessions([writing], 1)
            for number in range(20):
                seq = (await answered([writing], "POST", f"/v1/sessions/{session_id}/messages", message(f"m{number}"), []))["seq"]
                for path, items in ((f"/v1/sessions/{session_id}", "messages"), ("/v1/log", "events")):
                    page = (await reading.get(path, params={"after_seq": seq - 1})).json()
                    assert [item["seq"] for item in page[items]] == [seq]
                    page = (await reading.get(path, params={"after_seq": seq})).json()
                    assert (page[items], page["next_after_seq"]) == ([], seq)


async def test_a_short_wait_has_what_another_hub_acknowledged_before_it_though_no_notice_came(database, cluster):
    """The poll that stands behind a lost notice would come after its end."""
    with mixed_fleet(database, [{}, {"listen_dsn": cluster}]) as fleet:
        async with fleet.clients() as (writing, reading):
            (session_id,) = await create_sessions([writing], 1)
            for number in range(20):
                seq = (await answered([writing], "POST", f"/v1/sessions/{session_id}/messages", message(f"m{number}"), []))["seq"]
                for path, items in ((f"/v1/sessions/{session_id}", "messages"), ("/v1/log", "events")):
                    page = (await reading.get(path, params={"after_seq": seq - 1, "wait": 0.02})).json()
                    assert [item["seq"] for item in page[items]] == [seq]


async def test_who_catches_up_with_a_long_session_does_not_keep_those_at_its_end_waiting(database):
    with running_fleet(database, 1) as fleet:
        async with fleet.clients() as https, anyio.create_task_group() as tasks:
            (session_id,) = await create_sessions(https, 1)
            path = f"/v1/sessions/{session_id}"
            for batch in range(4):
                messages = [message(f"old-{batch}-{n}") for n in range(1000)]
                await answered(https, "POST", f"{path}/messages", {"messages": messages}, [])
            tail = Tail(https[0], session_id, after_seq=4001)
            for _ in range(3):
                tasks.start_soon(catch_up_again_and_again, https[0], path)
            tasks.start_soon(tail.run)
            for number in range(20):
                seq = (await answered(https, "POST", f"{path}/messages", message(f"new-{number}"), []))["seq"]
                await tail.reaches(seq, within_s=2)
            tasks.cancel_scope.cancel()


async def catch_up_again_and_again(http: httpx2.AsyncClient, path: str) -> None:
    while True:
        await http.get(path, params={"after_seq": 0, "limit": 1000, "wait": 5})


async def test_who_waits_is_woken_by_an_append_that_comes_beside_a_change_of_the_meta(database):
    """The change makes the hub forget what it knows of the session, but not whom the append under way has to wake."""
    with running_fleet(database, 1) as fleet:
        async with fleet.clients() as https, anyio.create_task_group() as tasks:
            (session_id,) = await create_sessions(https, 1)
            path = f"/v1/sessions/{session_id}"
            tail = Tail(https[0], session_id)
            tasks.start_soon(tail.run)
            for number in range(60):
                async with anyio.create_task_group() as beside:
                    beside.start_soon(answered, https, "PATCH", path, {"number": number}, [])
                    await anyio.sleep(random.uniform(0, 0.004))  # any moment of the change
                    seq = (await answered(https, "POST", f"{path}/messages", message(f"m{number}"), []))["seq"]
                await tail.reaches(seq, within_s=2)
            tasks.cancel_scope.cancel()
