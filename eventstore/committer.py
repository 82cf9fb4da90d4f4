"""Commit together what waits together: appends that queue while a commit runs go into the next one.

Rule 1: no timer. A lone append goes at once; a batch forms only because a commit is under way.
Rule 2: a batch is capped by count and bytes, and large requests have a lane of their own, so that small ones do not wait
        behind them for more than the append lock.
Rule 3: no two requests of a batch depend on each other; one that would waits, and what is behind it for that session too.
Rule 4: a request that the database refuses is tried alone and fails alone.
Rule 5: a fault in one commit is told to those who are in it, and ends no other.
Rule 6: what was written is answered as written, whatever happens while readers are told of it: then all look again.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from eventstore.append import (
    Appended,
    AppendRequest,
    Commit,
    batch_arguments,
    commit_of,
    is_lone_message,
    message_arguments,
    outcomes,
)
from eventstore.db import Database, Kept
from eventstore.errors import Internal, LogBusy, Overloaded, StoreError, StoreUnavailable, without_text
from eventstore.sharing import Courtesy

log = logging.getLogger("tasuki.committer")
BATCH_EVENTS_MAX = 256
BATCH_BYTES_MAX = 1024 * 1024
LARGE_REQUEST_BYTES = 64 * 1024
_NOT_THE_REQUESTS_FAULT = (StoreUnavailable, LogBusy)


@dataclass(eq=False, slots=True)
class _Waiting:
    request: AppendRequest
    size_bytes: int
    outcome: asyncio.Future[list[Appended]]

    def answer(self, outcome: list[Appended] | StoreError) -> None:
        if self.outcome.done():  # who waited has gone
            return
        if isinstance(outcome, StoreError):
            self.outcome.set_exception(outcome)
        else:
            self.outcome.set_result(outcome)


class _Lane:
    """A queue and its wake-up."""

    def __init__(self) -> None:
        self.queue: deque[_Waiting] = deque()
        self.filled = asyncio.Event()

    def put(self, waiting: _Waiting) -> None:
        self.queue.append(waiting)
        self.filled.set()

    def take_batch(self) -> list[_Waiting]:
        """Remove and return the next batch, in order; what cannot go along stays, in order."""
        if len(self.queue) == 1:
            self.filled.clear()
            return [self.queue.popleft()]
        batch, left = _Batch(), deque[_Waiting]()
        while self.queue and not batch.is_full:
            waiting = self.queue.popleft()
            if not batch.take(waiting):
                left.append(waiting)
        left.extend(self.queue)
        self.queue = left
        if not left:
            self.filled.clear()
        return batch.members


class _Batch:
    """Requests that can share a commit."""

    def __init__(self) -> None:
        self.members: list[_Waiting] = []
        self.is_full = False
        self._events = 0
        self._bytes = 0
        self._keys: set[bytes] = set()
        self._sessions: set[str] = set()
        self._closed: set[str] = set()  # sessions that no later request of this batch may touch

    def take(self, waiting: _Waiting) -> bool:
        request = waiting.request
        sessions = {event.session_id for event in request.events if event.session_id}
        keys = {event.append_key for event in request.events}
        if self.members and (
            self._events + len(request.events) > BATCH_EVENTS_MAX or self._bytes + waiting.size_bytes > BATCH_BYTES_MAX
        ):
            self.is_full = True
            return False
        if keys & self._keys or sessions & self._closed or (request.looks_at_session and sessions & self._sessions):
            self._closed |= sessions
            return False
        self.members.append(waiting)
        self._events += len(request.events)
        self._bytes += waiting.size_bytes
        self._keys |= keys
        self._sessions |= sessions
        if request.looks_at_session:
            self._closed |= sessions
        return True


class Committer:
    """The writer of one server process. `on_commit` is called after each commit that wrote something; None: a fault hid what.
    It returns whether somebody is about to be sent what was written: they come first, then the writers."""

    def __init__(self, database: Database, on_commit: Callable[[Commit | None], bool], requests_max: int, bytes_max: int) -> None:
        self._database = database
        self._on_commit = on_commit
        self._let_them_read = Courtesy()
        self._requests_max, self._bytes_max = requests_max, bytes_max
        self._small, self._large = _Lane(), _Lane()
        self._requests = self._bytes = 0

    async def submit(self, request: AppendRequest) -> list[Appended]:
        """Append a request's events and return where they stand, in order.

        Raises what the log answers (AppendIdReused, SeqConflict, SessionNotFound, SessionDeleted, TooLarge, MetaMoved),
        Overloaded when too much waits, LogBusy, StoreUnavailable.
        """
        size = request.size_bytes
        if self._requests and (self._requests >= self._requests_max or self._bytes + size > self._bytes_max):
            raise Overloaded("Too many appends wait to be written. Nothing of this one was; try again shortly.")
        waiting = _Waiting(request, size, asyncio.get_running_loop().create_future())
        self._requests, self._bytes = self._requests + 1, self._bytes + size
        try:
            (self._large if size > LARGE_REQUEST_BYTES else self._small).put(waiting)
            return await waiting.outcome
        finally:
            self._requests, self._bytes = self._requests - 1, self._bytes - size

    async def run(self) -> None:
        """Write what is submitted, until cancelled."""
        async with self._database.kept() as kept, anyio.create_task_group() as tasks:
            tasks.start_soon(self._write, self._small, kept)
            tasks.start_soon(self._write, self._large, self._database)

    async def _write(self, lane: _Lane, database: Database | Kept) -> None:
        with anyio.CancelScope() as work:
            while True:
                await lane.filled.wait()
                work.shield = True  # an append once sent is answered, also while the server stops
                await self._commit(lane.take_batch(), database)
                work.shield = False

    async def _commit(self, batch: list[_Waiting], database: Database | Kept) -> None:
        requests = [waiting.request for waiting in batch]
        try:
            rows = await _append(requests, database)
            answers = outcomes(requests, rows)
        except _NOT_THE_REQUESTS_FAULT as error:
            _answer_all(batch, error)
        except StoreError as error:
            if len(batch) == 1:
                _answer_all(batch, error)
            else:
                for waiting in batch:
                    await self._commit([waiting], database)
        except BaseException as error:
            _answer_all(batch, Internal("The append ended without an answer; repeat it with the same append_id."))
            if not isinstance(error, Exception):
                raise
            log.exception("fault", exc_info=without_text(error))
        else:
            if self._tell_readers(requests, rows):
                await checkpoint()  # they are sent it now
                self._let_them_read()
            for waiting, outcome in zip(batch, answers, strict=True):
                waiting.answer(outcome)

    def _tell_readers(self, requests: list[AppendRequest], rows: list[tuple[Any, ...]]) -> bool:
        """Return whether some are about to be sent what was written. A fault is logged and ends nothing: all look again then."""
        try:
            commit = commit_of(requests, rows)
            return bool(commit.written) and self._on_commit(commit)
        except Exception as error:
            log.exception("fault", exc_info=without_text(error))
        try:
            return self._on_commit(None)
        except Exception as error:
            log.exception("fault", exc_info=without_text(error))
            return False


async def _append(requests: list[AppendRequest], database: Database | Kept) -> list[tuple[Any, ...]]:
    """Write a batch, and return the rows of `append_events`. A lone message, as most are, has a shorter way, but for a large
    one, which is compressed before the append lock."""
    if isinstance(database, Kept) and is_lone_message(requests):
        seq = (await database.rows("append_message", **message_arguments(requests[0]))).int(0, 0)
        if seq is not None:
            return [(1, seq, False, None, None)]
    return await database.call("append_events", **batch_arguments(requests))


def _answer_all(batch: list[_Waiting], error: StoreError) -> None:
    for waiting in batch:
        waiting.answer(type(error)(error.detail, **error.facts))
