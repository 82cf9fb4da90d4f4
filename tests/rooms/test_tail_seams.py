"""A tail has no seam: whatever comes between two of its steps is seen. On a log made of a list, so that it comes just then."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from eventstore.append import NewEvent
from eventstore.errors import Internal, SessionDeleted, StoreError, StoreUnavailable
from eventstore.listener import Listener
from eventstore.read import PAGE_BYTES_MAX, Page, SessionRef
from eventstore.redact import Redactor
from eventstore.tail import Tails

REF = SessionRef(1, "ses_1", "p", (), None)
NEVER_S = 60.0
CLEAN = Redactor(False).clean


class ListLog:
    """Stands for the reader: one session's messages. `during_read` happens once, after what is there was looked at."""

    def __init__(self) -> None:
        self.seqs: list[int] = []
        self.reads: list[int] = []
        self.during_read: Callable[[], Awaitable[None]] | None = None
        self.failures: list[Exception] = []

    async def messages(self, ref: SessionRef, after_seq: int, max_count: int, with_natives: bool = False) -> Page:
        self.reads.append(after_seq)
        seqs = [seq for seq in self.seqs if seq > after_seq][:max_count]
        page = Page(seqs, [b"%d" % seq for seq in seqs], self.seqs[-1] if self.seqs else 0)
        happening, self.during_read = self.during_read, None
        if happening:
            await happening()
        await anyio.lowlevel.checkpoint()
        if self.failures:
            raise self.failures.pop(0)
        return page


class Scene:
    """Tails over a log, and appends that wake them as the listener would."""

    def __init__(self, tails: Tails, log: ListLog) -> None:
        self.tails, self.log = tails, log

    async def append(self) -> None:
        self.log.seqs.append(len(self.log.seqs) + 1)
        self.tails.wake({REF.session_no})

    def commit(self, *seqs: int, is_next: bool = True, **more: Any) -> None:
        """A commit of this process."""
        self.log.seqs += seqs
        self.tails.committed([(REF, [self.message(seq, **more) for seq in seqs])], is_next)

    def message(self, seq: int, **more: Any) -> tuple[int, NewEvent]:
        """An event of the session as it was written."""
        event: dict[str, Any] = {"kind": "message.appended", "role": "user", "body": CLEAN('{"role":"user"}'), **more}
        return seq, NewEvent(session_id=REF.session_id, append_id=str(seq), append_key=b"", body_hash=b"", **event)

    async def next(self, after_seq: int, wait_s: float = NEVER_S, max_count: int = 100) -> list[int]:
        with anyio.fail_after(5):
            return (await self.tails.next_page(REF, "messages", after_seq, max_count, wait_s)).seqs

    async def all_wait(self, count: int) -> None:
        await anyio.wait_all_tasks_blocked()
        assert self.tails.waiting == count


@asynccontextmanager
async def scene(kind: type[Tails] = Tails) -> AsyncIterator[Scene]:
    log: Any = ListLog()
    tails = kind(log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tails.run)
        await anyio.wait_all_tasks_blocked()
        yield Scene(tails, log)
        tasks.cancel_scope.cancel()


class ReadsBeforeItRegisters(Tails):
    """The mistake that rule 1 forbids."""

    async def next_page(self, *arguments: Any, **options: Any) -> Page:
        page = await self._reader.messages(*arguments[:1], *arguments[2:4])
        return page if page.seqs else await super().next_page(*arguments, **options)

    def _channel(self, *arguments: Any) -> Any:
        channel = super()._channel(*arguments)
        channel.known_head = 0  # it has read already
        return channel


@pytest.mark.parametrize("kind", [Tails, ReadsBeforeItRegisters])
async def test_what_is_appended_during_the_first_read_is_seen(kind):
    async with scene(kind) as hub:
        hub.log.during_read = hub.append
        seen = await hub.next(0, wait_s=0.2)
        assert seen == ([1] if kind is Tails else []), "the mistake must show, or this test shows nothing"


async def test_what_is_appended_during_the_read_after_a_wake_up_is_seen():
    async with scene() as hub, anyio.create_task_group() as tasks:
        pages: list[list[int]] = []

        async def follow() -> None:
            after_seq = 0
            while after_seq < 3:
                pages.append(await hub.next(after_seq))
                after_seq = pages[-1][-1]

        tasks.start_soon(follow)
        await hub.all_wait(1)
        hub.log.during_read = hub.append
        await hub.append()
        await hub.all_wait(1)
        assert pages == [[1], [2]]
        await hub.append()
    assert pages == [[1], [2], [3]]


async def test_a_wake_up_for_nothing_answers_nobody():
    async with scene() as hub:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hub.next, 0)
            await hub.all_wait(1)
            for _ in range(10):
                hub.tails.wake(None)
                await hub.all_wait(1)
            assert hub.tails.waiting == 1
            await hub.append()
        assert hub.tails.waiting == 0


async def test_waiters_at_one_place_share_one_read_and_one_page():
    async with scene() as hub:
        pages: list[Page] = []

        async def wait() -> None:
            pages.append(await hub.tails.next_page(REF, "messages", 0, 100, NEVER_S))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for _ in range(500):
                    tasks.start_soon(wait)
                await hub.all_wait(500)
                hub.log.reads.clear()
                await hub.append()
        assert len(pages) == 500
        assert len({id(page) for page in pages}) == 1, "and so one encoding, which the page keeps"
        assert hub.log.reads == [0]


@pytest.mark.parametrize("wait_s", [0, NEVER_S])
async def test_thousands_who_come_at_once_to_one_place_share_the_first_read_too(wait_s):
    async with scene() as hub:
        await hub.append()
        pages: list[Page] = []

        async def read() -> None:
            pages.append(await hub.tails.next_page(REF, "messages", 0, 100, wait_s))

        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                for _ in range(5000):
                    tasks.start_soon(read)
        assert [page.seqs for page in pages] == [[1]] * 5000
        assert hub.log.reads == [0, 0], "by who came first, and for all who came during that read"


async def test_who_comes_after_an_append_is_not_given_a_first_read_that_began_before_it():
    async with scene() as hub, anyio.create_task_group() as tasks:
        pages: list[list[int]] = []

        async def append_and_read() -> None:
            hub.log.seqs.append(1)  # by another server, whose notice has not come yet
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()

        async def read() -> None:
            pages.append(await hub.next(0, wait_s=0))

        hub.log.during_read = append_and_read
        await read()
    assert pages == [[], [1]]


async def test_a_short_wait_begins_with_a_read_and_a_long_one_relies_on_notices():
    async with scene() as hub:
        hub.tails = Tails(hub.tails._reader, short_wait_s=0.5)
        assert await hub.next(0, wait_s=0) == []
        hub.log.seqs.append(1)  # and its notice was lost
        assert await hub.next(0, wait_s=0.6) == []
        assert await hub.next(0, wait_s=0.5) == [1]


async def test_waiters_at_other_places_share_the_read_and_get_only_what_is_above_their_own():
    async with scene() as hub:
        for _ in range(5):
            await hub.append()
        got: dict[int, list[int]] = {}

        async def wait(after_seq: int) -> None:
            got[after_seq] = (await hub.tails.next_page(REF, "messages", after_seq, 2, NEVER_S)).seqs

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                for after_seq in (5, 6, 7):
                    tasks.start_soon(wait, after_seq)
                await hub.all_wait(3)
                hub.log.reads.clear()
                hub.log.seqs += [6, 7, 8]
                hub.tails.wake({REF.session_no})
        assert got == {5: [6, 7], 6: [7, 8], 7: [8]}
        assert hub.log.reads == [5]


# --- commits of this process


class HandsOverWhatever(Tails):
    """The mistake that rule 2 forbids."""

    def committed(self, written: list[Any], is_next: bool) -> bool:
        return super().committed(written, True)


async def test_those_at_the_head_are_handed_what_this_process_wrote_without_a_read():
    async with scene() as hub, anyio.create_task_group() as tasks:
        pages: list[list[int]] = []
        tasks.start_soon(follow, hub, pages, 3)
        await hub.all_wait(1)
        hub.log.reads.clear()
        for seqs in ([1], [2, 3]):
            hub.commit(*seqs)
            await anyio.wait_all_tasks_blocked()
    assert (pages, hub.log.reads) == ([[1], [2, 3]], [])


@pytest.mark.parametrize("kind", [Tails, HandsOverWhatever])
async def test_what_another_process_wrote_before_it_is_not_passed_over(kind):
    async with scene(kind) as hub, anyio.create_task_group() as tasks:
        pages: list[list[int]] = []
        tasks.start_soon(follow, hub, pages, 2)
        await hub.all_wait(1)
        hub.log.seqs.append(1)  # by another one, whose notice has not come yet
        hub.commit(2, is_next=False)
    assert pages == ([[1, 2]] if kind is Tails else [[2]]), "the mistake must show, or this test shows nothing"


async def test_what_is_committed_while_a_wake_up_is_read_for_is_seen_once():
    async with scene() as hub, anyio.create_task_group() as tasks:
        pages: list[list[int]] = []
        tasks.start_soon(follow, hub, pages, 3)
        await hub.all_wait(1)

        async def commit() -> None:
            hub.commit(2)

        hub.log.during_read = commit
        await hub.append()
        await anyio.wait_all_tasks_blocked()
        hub.commit(3)
    assert [seq for page in pages for seq in page] == [1, 2, 3]


async def test_what_is_committed_before_one_who_was_woken_goes_on_is_not_passed_over():
    async with scene() as hub, anyio.create_task_group() as tasks:
        pages: list[list[int]] = []
        tasks.start_soon(follow, hub, pages, 3)
        await hub.all_wait(1)
        hub.commit(1)
        hub.commit(2)
        await anyio.wait_all_tasks_blocked()
        hub.commit(3)
    assert [seq for page in pages for seq in page] == [1, 2, 3]


async def test_a_commit_that_another_reader_saw_before_it_was_told_of_reaches_those_who_wait():
    async with scene() as hub, anyio.create_task_group() as tasks:
        pages: list[list[int]] = []
        tasks.start_soon(follow, hub, pages, 1)
        await hub.all_wait(1)
        hub.log.seqs.append(1)
        hub.tails._channels[REF.session_no, "messages"].known_head = None
        assert await hub.next(0) == [1], "a reader that comes anew"
        hub.tails.committed([(REF, [hub.message(1)])], is_next=True)
    assert pages == [[1]]


async def test_what_is_no_message_and_what_is_more_than_a_page_is_read():
    async with scene() as hub, anyio.create_task_group() as tasks:
        pages: list[list[int]] = []
        tasks.start_soon(follow, hub, pages, 4)
        await hub.all_wait(1)
        for seq, more in (
            (1, {"kind": "native.recorded", "role": None}),
            (2, {"body": CLEAN(f'{{"c":"{"x" * PAGE_BYTES_MAX}"}}')}),
        ):
            hub.log.reads.clear()
            hub.commit(seq, **more)
            await anyio.wait_all_tasks_blocked()
            assert hub.log.reads == [seq - 1]
        hub.commit(3, 4)
    assert pages == [[1], [2], [3, 4]]


async def test_a_commit_is_next_when_all_before_it_was_noticed():
    database: Any = None
    listener = Listener(database, "host=127.0.0.1", lambda session_nos, patched_nos: None, NEVER_S, NEVER_S)
    listener.committed(1, 2, are_all_told=True)
    assert not listener.is_next(4), "3 is another server's"
    listener.committed(4, 4, are_all_told=True)
    assert not listener.is_next(5)
    listener.committed(5, 5, are_all_told=True)
    for notice in ("3 3 7", "4 4 7", "5 5 7"):
        listener._take(notice)
    assert listener.is_next(6)
    listener.committed(6, 6, are_all_told=False)
    assert not listener.is_next(7), "those who wait for 6 are told by its notice"


async def test_thousands_who_want_to_know_what_is_new_in_the_log_share_two_looks():
    looks = []

    class Database:
        async def call(self, function: str, **arguments: Any) -> list[tuple[Any, ...]]:
            looks.append(function)
            await anyio.lowlevel.checkpoint()
            return [("log_1", 0, False)]

    database: Any = Database()
    listener = Listener(database, "host=127.0.0.1", lambda session_nos, patched_nos: None, NEVER_S, NEVER_S)
    await listener.start()
    looks.clear()
    async with anyio.create_task_group() as tasks:
        for _ in range(5000):
            tasks.start_soon(listener.catch_up)
    assert looks == ["log_state"] * 2


async def follow(hub: Scene, pages: list[list[int]], last_seq: int) -> None:
    after_seq = 0
    while after_seq < last_seq:
        pages.append(await hub.next(after_seq))
        after_seq = pages[-1][-1]


async def test_who_leaves_is_gone_at_once():
    async with scene() as hub, anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(hub.next, 0)
        await hub.all_wait(50)
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await hub.all_wait(0)


async def test_when_the_hub_stops_all_who_wait_are_told_that_there_is_nothing_yet():
    async with scene() as hub:
        got: list[list[int]] = []

        async def wait() -> None:
            got.append(await hub.next(0))

        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(wait)
            await hub.all_wait(50)
            hub.tails.stop()
        assert got == [[]] * 50
        assert await hub.next(0) == [], "and who comes later does not wait"


@pytest.mark.parametrize(
    ("failure", "told"), [(SessionDeleted(), SessionDeleted), (ZeroDivisionError("text of a message"), Internal)]
)
async def test_a_failure_is_told_to_those_who_wait_and_ends_nothing_else(failure, told, caplog):
    async with scene() as hub:
        refusals: list[StoreError] = []

        async def wait() -> None:
            try:
                await hub.next(0)
            except StoreError as error:
                refusals.append(error)

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(wait)
            await hub.all_wait(3)
            hub.log.failures = [failure]
            await hub.append()
        assert [type(error) for error in refusals] == [told] * 3
        assert await hub.next(0) == [1]
    assert "text of a message" not in caplog.text


async def test_waiters_live_through_a_database_that_is_away(monkeypatch):
    monkeypatch.setattr("eventstore.tail._RETRY_S", 0)
    async with scene() as hub:
        got: list[list[int]] = []

        async def wait() -> None:
            got.append(await hub.next(0))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await hub.all_wait(1)
            hub.log.failures = [StoreUnavailable(), StoreUnavailable()]
            await hub.append()
        assert got == [[1]]
