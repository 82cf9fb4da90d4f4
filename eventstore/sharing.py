"""Sharing: who asks for the same at the same time gets one answer; reads take turns, however many; so do those on one core.

Rule 1: an answer is given to those alone who asked before its read began: what was written, deleted or revoked before
        somebody asked is in the answer to that question.
Rule 2: the wait for a turn has no limit of its own while answers come, since who is refused only asks again. Where none came
        for some seconds the database is away, and that is said to all who wait.
"""

import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio

from eventstore.errors import StoreError, StoreUnavailable

T = TypeVar("T")
STUCK_S = 5.0
COURTESY_S_MAX, DISCOURTESY_S = 0.001, 5.0
_let_run: Callable[[], None] = getattr(os, "sched_yield", lambda: None)  # not on every platform


@dataclass(eq=False, slots=True)
class _Flights(Generic[T]):
    """The reads of one key, by number, and the outcome of the last that ended."""

    callers: int = 0
    begun: int = 0
    landed: int = 0
    is_under_way: bool = False
    ended: anyio.Event = field(default_factory=anyio.Event)
    outcomes: list[T | StoreError] = field(default_factory=list)

    async def fly(self, read: Callable[[], Awaitable[T]]) -> None:
        self.begun += 1
        self.is_under_way = True
        try:
            self.outcomes = [await _outcome(read)]
            self.landed = self.begun
        finally:
            self.is_under_way = False
            self.ended.set()
            self.ended = anyio.Event()


class SingleFlight(Generic[T]):
    """Of the reads for one key at most one is under way, and one waits for its end on behalf of all who came meanwhile."""

    def __init__(self) -> None:
        self._by_key: dict[Hashable, _Flights[T]] = {}

    async def share(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        """Return what `read` gives, called by us or by another one who asks for this key. Its StoreError is everyone's.

        Who reads and is cancelled, or meets a fault, leaves the reading to the next.
        """
        flights = self._by_key.setdefault(key, _Flights())
        flights.callers += 1
        ours = flights.begun + 1
        try:
            while flights.landed < ours:
                if flights.is_under_way:
                    await flights.ended.wait()
                else:
                    await flights.fly(read)
        finally:
            flights.callers -= 1
            if not flights.callers:
                del self._by_key[key]
        (outcome,) = flights.outcomes
        if isinstance(outcome, StoreError):
            raise type(outcome)(outcome.detail, **outcome.facts)
        return outcome


class Turns:
    """So many at once and no more; the others wait, first come first served."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: OrderedDict[anyio.Event, None] = OrderedDict()
        self._answered = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold a turn while the context is open. Raises StoreUnavailable when nobody had an answer for `STUCK_S`."""
        await self._come()
        try:
            yield
            self._answered += 1
        finally:
            self._pass_on()

    async def _come(self) -> None:
        if self._free:
            self._free -= 1
            return
        called = anyio.Event()
        self._waiting[called] = None
        try:
            while not called.is_set():
                answered = self._answered
                with anyio.move_on_after(STUCK_S):
                    await called.wait()
                if answered == self._answered and not called.is_set():
                    raise StoreUnavailable("The database does not answer.")
        except BaseException:
            if called.is_set():  # in the moment in which we left
                self._pass_on()
            else:
                del self._waiting[called]
            raise

    def _pass_on(self) -> None:
        if self._waiting:
            called, _ = self._waiting.popitem(last=False)
            called.set()
        else:
            self._free += 1


class Courtesy:
    """Lets others run on this core, where those who read what was just sent may wait for it. Where somebody takes long, that is
    no such reader, but one with work of its own: then it is not done again for a while."""

    def __init__(self) -> None:
        self._not_before = 0.0

    def __call__(self) -> None:
        began = time.monotonic()
        if began >= self._not_before:
            _let_run()
            if time.monotonic() - began > COURTESY_S_MAX:
                self._not_before = began + DISCOURTESY_S


async def _outcome(read: Callable[[], Awaitable[T]]) -> T | StoreError:
    try:
        return await read()
    except StoreError as error:
        return error
