"""Many ask at once: one read for all who ask for the same, never one that began before they asked; the others wait in line."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tails import eventually

from eventstore import sharing
from eventstore.errors import SessionNotFound, StoreUnavailable
from eventstore.sharing import COURTESY_S_MAX, DISCOURTESY_S, Courtesy, SingleFlight, Turns


class Shelf:
    """What is read: a number that changes, looked at when a read begins and told when it may end."""

    def __init__(self) -> None:
        self.number = 0
        self.reads = 0
        self.may_end = anyio.Event()
        self.failures: list[Exception] = []

    async def read(self) -> int:
        self.reads += 1
        seen = self.number
        await self.may_end.wait()
        await anyio.lowlevel.checkpoint()
        if self.failures:
            raise self.failures.pop(0)
        return seen


class JoinsWhatIsUnderWay(SingleFlight[Any]):
    """The mistake that rule 1 forbids."""

    async def share(self, key: Any, read: Callable[[], Awaitable[Any]]) -> Any:
        flights = self._by_key.get(key)
        if flights and flights.is_under_way:
            await flights.ended.wait()
            return flights.outcomes[0]
        return await super().share(key, read)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.mark.parametrize("kind", [SingleFlight, JoinsWhatIsUnderWay])
async def test_who_asks_after_a_change_is_not_given_a_read_that_began_before_it(shelf, kind):
    flight = kind()
    got: list[int] = []

    async def ask() -> None:
        got.append(await flight.share("key", shelf.read))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        shelf.number = 1
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        shelf.may_end.set()
    assert got == ([0, 1] if kind is SingleFlight else [0, 0]), "the mistake must show, or this test shows nothing"


async def test_of_thousands_who_ask_at_once_one_reads_and_one_more_for_those_who_came_meanwhile(shelf):
    flight: SingleFlight[int] = SingleFlight()
    got: list[int] = []

    async def ask() -> None:
        got.append(await flight.share("key", shelf.read))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for _ in range(5000):
                tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert shelf.reads == 1
            shelf.may_end.set()
    assert (shelf.reads, len(got)) == (2, 5000)
    assert flight._by_key == {}, "nothing is kept of what nobody asks for any more"


async def test_different_keys_share_nothing(shelf):
    flight: SingleFlight[int] = SingleFlight()
    async with anyio.create_task_group() as tasks:
        for key in "abc":
            tasks.start_soon(flight.share, key, shelf.read)
        await anyio.wait_all_tasks_blocked()
        assert shelf.reads == 3
        shelf.may_end.set()


async def test_who_reads_and_leaves_lets_the_next_one_read(shelf):
    flight: SingleFlight[int] = SingleFlight()
    got: list[int] = []

    async def ask() -> None:
        got.append(await flight.share("key", shelf.read))

    async with anyio.create_task_group() as tasks, anyio.create_task_group() as leaving:
        leaving.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        leaving.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.wait_all_tasks_blocked()
            assert (shelf.reads, got) == (2, [])
            shelf.may_end.set()
    assert (shelf.reads, got) == (2, [0, 0, 0])


async def test_a_refusal_is_told_to_all_who_share_it_and_a_fault_to_the_one_who_met_it(shelf):
    flight: SingleFlight[int] = SingleFlight()
    told: list[Exception | int] = []

    async def ask() -> None:
        try:
            told.append(await flight.share("key", shelf.read))
        except (SessionNotFound, ZeroDivisionError) as error:
            told.append(error)

    shelf.failures = [ZeroDivisionError(), SessionNotFound("no such session", session_id="ses_1")]
    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        shelf.may_end.set()
    fault, *refusals = told
    assert isinstance(fault, ZeroDivisionError)
    assert [(type(error), getattr(error, "facts", None)) for error in refusals] == [(SessionNotFound, {"session_id": "ses_1"})] * 3
    assert len({id(error) for error in refusals}) == 3, "each has its own, with its own way up"


# --- turns


class Line:
    """Callers who take a turn, in the order in which they had it, and go when told."""

    def __init__(self, count: int) -> None:
        self.turns = Turns(count)
        self.held = self.held_most = 0
        self.had: list[int] = []
        self.refused: list[int] = []
        self.go = anyio.Semaphore(0)

    async def refusals(self) -> list[int]:
        return self.refused

    async def take(self, number: int) -> None:
        try:
            async with self.turns.turn():
                self.held += 1
                self.held_most = max(self.held, self.held_most)
                self.had.append(number)
                try:
                    await self.go.acquire()
                finally:
                    self.held -= 1
        except StoreUnavailable:
            self.refused.append(number)


@asynccontextmanager
async def in_line(count: int, at_once: int) -> AsyncIterator[tuple[Line, anyio.abc.TaskGroup]]:
    line = Line(at_once)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(line.take, number)
                await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            yield line, tasks


async def test_no_more_than_so_many_have_a_turn_and_the_others_get_it_in_the_order_they_came():
    async with in_line(100, at_once=3) as (line, _):
        assert line.had == [0, 1, 2]
        for _ in range(100):
            line.go.release()
    assert (line.had, line.held_most, line.refused) == (list(range(100)), 3, [])


async def test_who_leaves_the_line_leaves_no_gap():
    async with in_line(3, at_once=2) as (line, _):
        async with anyio.create_task_group() as leaving:
            leaving.start_soon(line.take, 3)
            await anyio.wait_all_tasks_blocked()
            leaving.cancel_scope.cancel()
        for _ in range(3):
            line.go.release()
    assert (line.had, line.turns._free, list(line.turns._waiting)) == ([0, 1, 2], 2, [])


async def test_a_turn_that_came_in_the_moment_its_caller_left_goes_to_the_next():
    line = Line(1)
    async with line.turns.turn():
        leaving, staying = (asyncio.create_task(line.take(number)) for number in range(2))
        await anyio.wait_all_tasks_blocked()
    leaving.cancel()  # it was called, and did not hear it yet
    line.go.release()
    with anyio.fail_after(5):
        await asyncio.wait([leaving, staying])
    assert (leaving.cancelled(), line.had, line.turns._free) == (True, [1], 1)


async def test_who_waits_is_not_refused_while_others_have_answers(monkeypatch):
    monkeypatch.setattr(sharing, "STUCK_S", 0.2)
    async with in_line(12, at_once=1) as (line, _):
        for _ in range(12):
            await anyio.sleep(0.1)  # each has its answer within the limit, all of them take six times as long
            line.go.release()
    assert (line.had, line.refused) == (list(range(12)), [])


async def test_when_nobody_has_an_answer_for_a_while_all_who_wait_are_told_that_the_database_is_away(monkeypatch):
    monkeypatch.setattr(sharing, "STUCK_S", 0.05)
    async with in_line(5, at_once=2) as (line, _):
        await eventually(line.refusals, lambda refused: refused == [2, 3, 4])
        line.go.release()
        line.go.release()
    assert (line.held, line.turns._free, list(line.turns._waiting)) == (0, 2, [])


# --- one core


def test_others_are_let_run_each_time_until_one_takes_long_and_then_not_for_a_while(monkeypatch):
    now, took_s, runs = 0.0, COURTESY_S_MAX / 2, 0

    def run() -> None:
        nonlocal now, runs
        now, runs = now + took_s, runs + 1

    monkeypatch.setattr(sharing, "_let_run", run)
    monkeypatch.setattr("time.monotonic", lambda: now)
    let_run = Courtesy()
    for _ in range(3):
        let_run()
    assert runs == 3
    took_s = 2 * COURTESY_S_MAX
    for _ in range(3):
        let_run()
    assert runs == 4, "it was a hog's"
    now += DISCOURTESY_S
    let_run()
    assert runs == 5
