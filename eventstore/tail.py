"""Tail: catch up from a seq, then wait for what comes. Readers of one session share one read and one encoding.

Rule 1: register for wake-ups before the first read, so that there is no seam to lose events in.
Rule 2: a wake-up says "look again" and nothing more; events come from a read, or from a commit of this process where nothing
        unknown lies before it: then those who stand at the head are handed what was written.
Rule 3: a waiter holds a place in a list and no database connection.
Rule 4: a fault in one channel is told to those who wait in it, and ends nothing else.
Rule 5: a short wait begins with a read, since its end may come before the poll that stands behind a lost notice.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from eventstore.append import NewEvent
from eventstore.errors import Internal, StoreError, without_text
from eventstore.read import PAGE_BYTES_MAX, PAGE_COUNT_MAX, Page, Reader, SessionRef, page_of
from eventstore.sharing import SingleFlight

log = logging.getLogger("tasuki.tail")
Mode = Literal["messages", "natives", "events", "log"]
_RETRY_S = 1.0
_IDLE_CHANNELS_MAX = 4096
_CHAR_BYTES_MAX = 4  # in UTF-8
_SESSION_MODES: tuple[Mode, ...] = ("messages", "natives", "events")


@dataclass(eq=False, slots=True)
class _Waiter:
    after_seq: int
    woken: "asyncio.Future[None]"
    page: Page | None = None
    error: StoreError | None = None

    def wake(self) -> None:
        if not self.woken.done():
            self.woken.set_result(None)


class _Channel:
    """The waiters of one session in one mode. `known_head`: nothing that they wait for lies between it and the log's head,
    as far as this process has been told."""

    def __init__(self, read: Callable[[int], Awaitable[Page]]) -> None:
        self.read = read
        self.waiters: set[_Waiter] = set()
        self.known_head: int | None = None
        self.version = 0  # how often it was woken: a read begun before a wake-up says nothing of what is there after it
        self.is_dirty = False
        self.is_reading = False

    def learn(self, page: Page, version: int) -> None:
        """Take the head from a read that began at `version`, unless something came since."""
        if version == self.version:
            self.known_head = page.head_seq

    def is_before(self, seq: int) -> bool:
        """Whether all that there is before this seq is known, and has been given to those who wait."""
        return self.known_head is not None and self.known_head < seq and not self.is_reading

    def hand_over(self, page: Page) -> bool:
        """Give what follows at once on the known head to those who stand there, and have not been given anything yet; return
        whether there are any."""
        head_before = self.known_head or 0
        self.version += 1
        self.known_head = page.head_seq
        waiting = [waiter for waiter in self.waiters if waiter.page is None and waiter.after_seq >= head_before]
        _give(page, waiting)
        return bool(waiting)


class Tails:
    """All that is waited for in one server process. A wait of up to `short_wait_s` is a short one."""

    def __init__(self, reader: Reader, short_wait_s: float = 0) -> None:
        self._reader, self._short_wait_s = reader, short_wait_s
        self._pages: SingleFlight[Page] = SingleFlight()
        self._channels: dict[tuple[int, Mode], _Channel] = {}
        self._tasks: TaskGroup | None = None
        self.stopping = anyio.Event()

    async def run(self) -> None:
        """Read for those who were woken, until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await anyio.sleep_forever()

    @property
    def waiting(self) -> int:
        """How many wait now."""
        return sum(len(channel.waiters) for channel in self._channels.values())

    def wake(self, session_nos: set[int] | None) -> None:
        """Let the waiters of these sessions look again, and those of the whole log; None: all."""
        if session_nos is None:
            keys = list(self._channels)
        else:
            keys = [(no, mode) for no in session_nos for mode in _SESSION_MODES] + [(0, "log")]
        self._look_again(keys)

    def committed(self, written: list[tuple[SessionRef, list[tuple[int, NewEvent]]]], is_next: bool) -> bool:
        """Tell those who wait of a commit of this process, and return whether some were given what was written.

        `is_next`: nothing that was not told of yet lies before it.
        """
        are_given = False
        self._look_again([(0, "log")])
        for ref, events in written:
            for mode in _SESSION_MODES:
                channel = self._channels.get((ref.session_no, mode))
                if channel is None:
                    continue
                if is_next and channel.is_before(events[0][0]) and _is_page(events):
                    are_given |= channel.hand_over(page_of(ref, mode, events))
                else:
                    self._mark((ref.session_no, mode), channel)
        return are_given

    def stop(self) -> None:
        """Answer all who wait with what there is: nothing yet."""
        self.stopping.set()
        for channel in self._channels.values():
            for waiter in channel.waiters:
                waiter.wake()

    async def next_page(
        self,
        ref: SessionRef | None,
        mode: Mode,
        after_seq: int,
        max_count: int,
        wait_s: float,
        is_following: bool = False,
    ) -> Page:
        """Return what comes after `after_seq` of a session (None: of the log), waiting up to `wait_s` for it.

        An empty page means "nothing yet". Raises SessionDeleted (for events: unless the reader `is_following` and shall
        see the deletion itself), SessionNotFound, StoreUnavailable.
        """
        channel = self._channel(ref, mode)
        waiter = _Waiter(after_seq, asyncio.get_running_loop().create_future())
        channel.waiters.add(waiter)
        try:
            head = channel.known_head
            if head is None or after_seq < head or wait_s <= self._short_wait_s:
                version = channel.version
                page = await self._first_page(ref, mode, after_seq, max_count, is_following)
                channel.learn(page, version)
                if page.seqs or wait_s <= 0:
                    return page
                head = page.head_seq
            await self._woken(waiter, wait_s)
        finally:
            channel.waiters.discard(waiter)
        if waiter.error:
            raise waiter.error
        return waiter.page.after(after_seq, max_count) if waiter.page else Page([], [], head)

    async def _woken(self, waiter: _Waiter, wait_s: float) -> None:
        """Return when the waiter is woken, or the time is over."""
        if self.stopping.is_set():
            return
        timer = asyncio.get_running_loop().call_later(wait_s, waiter.wake)
        try:
            await waiter.woken
        finally:
            timer.cancel()

    def _channel(self, ref: SessionRef | None, mode: Mode) -> _Channel:
        key = (ref.session_no if ref else 0, mode)
        channel = self._channels.get(key)
        if channel is None:
            if len(self._channels) >= _IDLE_CHANNELS_MAX:
                idle = [k for k, c in self._channels.items() if not c.waiters and not c.is_reading]
                for old in idle[: len(idle) // 2 + 1]:
                    del self._channels[old]
            channel = self._channels[key] = _Channel(lambda after: self._read(ref, mode, after, PAGE_COUNT_MAX, True))
        return channel

    async def _first_page(self, ref: SessionRef | None, mode: Mode, after_seq: int, max_count: int, is_following: bool) -> Page:
        key = (ref.session_no if ref else 0, mode, after_seq, max_count, is_following)
        return await self._pages.share(key, lambda: self._read(ref, mode, after_seq, max_count, is_following))

    async def _read(self, ref: SessionRef | None, mode: Mode, after_seq: int, max_count: int, is_following: bool) -> Page:
        if ref is None:
            return await self._reader.log(after_seq, max_count)
        if mode == "events":
            return await self._reader.events(ref, after_seq, max_count, is_following)
        return await self._reader.messages(ref, after_seq, max_count, with_natives=mode == "natives")

    def _look_again(self, keys: list[tuple[int, Mode]]) -> None:
        for key in keys:
            channel = self._channels.get(key)
            if channel:
                self._mark(key, channel)

    def _mark(self, key: tuple[int, Mode], channel: _Channel) -> None:
        channel.known_head = None
        channel.version += 1
        channel.is_dirty = True
        if not channel.waiters and not channel.is_reading:
            channel.is_dirty = False
            del self._channels[key]
        elif not channel.is_reading and self._tasks:
            channel.is_reading = True
            self._tasks.start_soon(self._serve, channel)

    async def _serve(self, channel: _Channel) -> None:
        """Read for all who wait, again while more was said to have come."""
        try:
            while channel.is_dirty and channel.waiters:
                channel.is_dirty = False
                waiting = list(channel.waiters)
                try:
                    await _read_for(waiting, channel)
                except StoreError as error:
                    if error.retryable:
                        channel.is_dirty = True
                        await anyio.sleep(_RETRY_S)
                    else:
                        _deliver_error(waiting, error)
                except Exception as error:
                    log.exception("fault", exc_info=without_text(error))
                    _deliver_error(waiting, Internal())
        finally:
            channel.is_reading = channel.is_dirty = False


async def _read_for(waiting: list[_Waiter], channel: _Channel) -> None:
    """Read from where the hindmost stands; a page may end before the others' place, who then get the next one."""
    while waiting:
        version = channel.version
        page = await channel.read(min(waiter.after_seq for waiter in waiting))
        channel.learn(page, version)
        if not page.seqs:
            return
        _give(page, waiting)
        waiting = [waiter for waiter in waiting if waiter.after_seq >= page.seqs[-1]]


def _give(page: Page, waiters: Iterable[_Waiter]) -> None:
    for waiter in waiters:
        if waiter.after_seq < page.seqs[-1]:
            waiter.page = page
            waiter.wake()


def _is_page(events: list[tuple[int, NewEvent]]) -> bool:
    """Whether these are messages, and no more than one page holds."""
    sizes = [event.size_bytes for _, event in events if event.kind == "message.appended"]
    return len(events) == len(sizes) <= PAGE_COUNT_MAX and _CHAR_BYTES_MAX * sum(sizes) <= PAGE_BYTES_MAX


def _deliver_error(waiting: list[_Waiter], error: StoreError) -> None:
    for waiter in waiting:
        waiter.error = error
        waiter.wake()
