"""A commit is told of twice, by its answer and by its notice, in any order: no reader misses an event, or has one twice.

Drawn at random on a log made of a list, with another server that writes to it, a second lane, and what is lost on its way.
"""

import random
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from tails import eventually

from eventstore import listener as listening
from eventstore.append import NewEvent
from eventstore.listener import Listener
from eventstore.read import Page, SessionRef
from eventstore.redact import Redactor
from eventstore.tail import Tails

KEPT, LARGE, OTHERS = 1, 2, 3  # backends: of the two lanes of this process, and of another server
REFS = [SessionRef(no, f"ses_{no}", "p", (), None) for no in (1, 2, 3)]
NEVER_S = 60.0
SETTLED_S = 5.0
SEEDS, STEPS = 400, 60
HARD_OF_HEARING, HEARD = 0.3, 0.8
"""So many listeners lose notices, and have so many of them; what they miss the poll makes good."""
CLEAN = Redactor(False).clean
Written = list[tuple[int, NewEvent]]


@dataclass
class Commit:
    """What a lane of this process is at work on: not committed while it has no events."""

    refs: list[SessionRef]
    written: Written = field(default_factory=list)


class Log:
    """Stands for the database: what is committed, the notices on their way, and which backend is at work for us."""

    def __init__(self, dice: random.Random) -> None:
        self.events: list[tuple[int, int]] = []
        self.notices: deque[tuple[int, bytes]] = deque()
        self.busy_pid: int | None = None
        self._dice = dice

    def commit(self, refs: list[SessionRef], backend: int) -> Written:
        first = len(self.events) + 1
        self.events += [(first + at, ref.session_no) for at, ref in enumerate(refs)]
        nos = " ".join(str(no) for no in sorted({ref.session_no for ref in refs}))
        self.notices.append((backend, f"{first} {len(self.events)} {nos}".encode()))
        return [(first + at, message(first + at, ref)) for at, ref in enumerate(refs)]

    def seqs(self, session_no: int) -> list[int]:
        return [seq for seq, no in self.events if no == session_no]

    async def messages(self, ref: SessionRef, after_seq: int, max_count: int, with_natives: bool = False) -> Page:
        await self._a_while()
        seqs = self.seqs(ref.session_no)
        await self._a_while()
        page = [seq for seq in seqs if seq > after_seq][:max_count]
        return Page(page, [b"%d" % seq for seq in page], seqs[-1] if seqs else 0)

    async def call(self, function: str, **arguments: Any) -> list[tuple[Any, ...]]:
        await self._a_while()
        head, after_seq = len(self.events), arguments.get("after_seq", 0)
        nos = sorted({no for _, no in self.events[after_seq:]})
        await self._a_while()
        return [("log_1", head, False)] if function == "log_state" else [(head, no) for no in nos]

    async def _a_while(self) -> None:
        for _ in range(self._dice.choice((0, 1, 1, 2, 8))):
            await checkpoint()


def message(seq: int, ref: SessionRef) -> NewEvent:
    event: dict[str, Any] = {"kind": "message.appended", "role": "user", "body": CLEAN('{"role":"user"}')}
    return NewEvent(session_id=ref.session_id, append_id=str(seq), append_key=b"", body_hash=b"", **event)


class World:
    """A server's listener and tails on such a log, and its readers. `steps`: what may happen next."""

    def __init__(self, dice: random.Random, kind: type[Listener]) -> None:
        self.dice = dice
        self.log = Log(dice)
        log: Any = self.log
        self.tails = Tails(log)
        self.listener = kind(log, "host=127.0.0.1", lambda nos, _: self.tails.wake(nos), NEVER_S, NEVER_S)
        self.is_hard_of_hearing = dice.random() < HARD_OF_HEARING
        self.lanes: dict[int, Commit] = {}
        self.seen: list[tuple[int, list[int]]] = []
        self.steps: list[Callable[[], None]] = [
            *[lambda: self.begin(KEPT), self.commit, self.answer, self.notice] * 4,
            *[lambda: self.begin(LARGE), self.other, self.other, self.lose_answer],
        ]

    def drawn(self) -> list[SessionRef]:
        return self.dice.choices(REFS, k=self.dice.choice((1, 1, 1, 2, 3)))

    def begin(self, lane: int) -> None:
        if lane not in self.lanes:
            self.lanes[lane] = Commit(self.drawn())
            self.log.busy_pid = KEPT if KEPT in self.lanes else None

    def commit(self) -> None:
        begun = [lane for lane, commit in self.lanes.items() if not commit.written]
        if begun:
            lane = self.dice.choice(begun)
            self.lanes[lane].written = self.log.commit(self.lanes[lane].refs, lane)

    def answer(self) -> None:
        written = self.taken()
        if written:
            by_session = {ref: [(seq, event) for seq, event in written if event.session_id == ref.session_id] for ref in REFS}
            told = [(ref, events) for ref, events in by_session.items() if events]
            first, last = written[0][0], written[-1][0]
            self.tails.committed(told, self.listener.is_next(first))
            self.listener.committed(first, last, are_all_told=True)

    def lose_answer(self) -> None:
        self.taken()

    def taken(self) -> Written:
        """The events of a commit whose answer is there."""
        done = [lane for lane, commit in self.lanes.items() if commit.written]
        if not done:
            return []
        written = self.lanes.pop(self.dice.choice(done)).written
        self.log.busy_pid = KEPT if KEPT in self.lanes else None
        return written

    def other(self) -> None:
        self.log.commit(self.drawn(), OTHERS)

    def notice(self) -> None:
        if self.log.notices:
            notice = self.log.notices.popleft()
            if not self.is_hard_of_hearing or self.dice.random() < HEARD:
                self.listener._hear(*notice)

    async def follow(self, ref: SessionRef) -> None:
        seqs: list[int] = []
        self.seen.append((ref.session_no, seqs))
        after_seq = 0
        while True:
            page = await self.tails.next_page(ref, "messages", after_seq, self.dice.choice((1, 2, 100)), NEVER_S)
            seqs += page.seqs
            after_seq = page.seqs[-1] if page.seqs else after_seq

    async def is_settled(self) -> bool:
        for _ in range(20):  # whoever has something twice has it by then
            await checkpoint()
        return not self.listener._early and all(seqs == self.log.seqs(no) for no, seqs in self.seen)


async def missed(seed: int, kind: type[Listener]) -> list[tuple[int, list[int], list[int]]]:
    """Let it run for a while, then let all come that is on its way. Return the readers that have something else than there is:
    the session, what is there, and what they have."""
    dice = random.Random(seed)
    world = World(dice, kind)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.tails.run)
        await world.listener.start()
        for number in range(STEPS):
            if number % 10 == 0:
                tasks.start_soon(world.follow, dice.choice(REFS))
            if dice.random() < 0.02:
                tasks.start_soon(world.listener.catch_up)
            dice.choice(world.steps)()
            for _ in range(dice.choice((0, 0, 1, 2, 5))):
                await checkpoint()
        while world.log.notices or world.lanes:
            for step in (world.commit, world.notice, world.answer):
                step()
                await checkpoint()
        if world.is_hard_of_hearing:
            await world.listener.catch_up()
        with suppress(AssertionError):
            await eventually(world.is_settled, bool, SETTLED_S if kind is Listener else 0.1)
        tasks.cancel_scope.cancel()
    return [(no, world.log.seqs(no), seqs) for no, seqs in world.seen if seqs != world.log.seqs(no)]


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "ANSWER_WAIT_S", 0.002)


async def test_no_reader_misses_an_event_or_has_one_twice():
    for seed in range(SEEDS):
        assert await missed(seed, Listener) == [], f"seed {seed}"


class TakesWhateverForTheNext(Listener):
    def is_next(self, first_seq: int) -> bool:
        return True


class ForgetsWhatCameEarly(Listener):
    def _take_early(self) -> None:
        self._early = []


@pytest.mark.parametrize("kind", [TakesWhateverForTheNext, ForgetsWhatCameEarly])
async def test_and_a_listener_that_makes_a_mistake_is_found_out(kind):
    for seed in range(SEEDS):
        if await missed(seed, kind):
            return
    pytest.fail("the mistake must show, or this test shows nothing")
