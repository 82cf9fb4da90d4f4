"""A commit's notice that overtakes its answer waits for it, never long: with the answer nobody has to read, without it they do."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import psycopg
import pytest
from doors import running_service
from tails import eventually

from eventstore import listener as listening
from eventstore.access import Principal
from eventstore.line import Line
from eventstore.listener import Listener
from eventstore.read import Page, Reader
from transports.service import Service

WHO = Principal(1, "admin")
OURS, OTHERS = 1, 2  # backends
SOON_S = 1.0
POLL_S = 9.9  # long after that
WAIT_S = 20.0  # no short wait: it would begin with a read
NEVER_S = 3600


@dataclass
class Scene:
    """A hub with a reader at its session's head, where each append's answer comes after its notice. `reads`: after which seq."""

    hub: Service
    session_id: str
    head_seq: int
    reads: list[int] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)

    async def append(self) -> int:
        written = await self.hub.append(WHO, self.session_id, '{"role":"user","content":"hi"}')
        return int(written.answer["seq"])

    async def is_noticed(self) -> bool:
        """Append, and look whether a notice of it came."""
        self.head_seq = await self.append()
        return self.head_seq not in self.hub.listener._own_commits

    async def wait(self) -> None:
        while True:
            _, page = await self.hub.read(self.session_id, self.head_seq, 1000, WAIT_S, False, None)
            self.seen += page.seqs
            self.head_seq = page.seqs[-1]

    async def sees_what_is_appended(self) -> int:
        seq = await self.append()
        await eventually(self.last_seen, lambda last: last == seq, SOON_S)
        return seq

    async def last_seen(self) -> int:
        return self.head_seq


@asynccontextmanager
async def scene(dsn: str, planted: pytest.MonkeyPatch, arrive: Callable[[Any], Any]) -> AsyncIterator[Scene]:
    """`arrive`: what becomes of the answer, once the notice is there."""
    async with running_service(dsn, poll_s=POLL_S) as hub, anyio.create_task_group() as tasks:
        session_id = str((await hub.create_session(WHO, '{"project_id":"p"}')).answer["session_id"])
        stage = Scene(hub, session_id, 0)
        await eventually(stage.is_noticed, bool)
        ask, messages = Line.ask, Reader.messages

        async def answer_late(line: Line, *arguments: Any) -> Any:
            result = await ask(line, *arguments)
            await eventually(lambda: value(len(hub.listener._early)), bool, SOON_S)
            return arrive(result)

        async def counted(reader: Reader, ref: Any, after_seq: int, *more: Any, **options: Any) -> Page:
            stage.reads.append(after_seq)
            return await messages(reader, ref, after_seq, *more, **options)

        planted.setattr(Line, "ask", answer_late)
        planted.setattr(Reader, "messages", counted)
        tasks.start_soon(stage.wait)
        await eventually(lambda: value(hub.tails.waiting), lambda count: count == 1)
        stage.reads.clear()
        yield stage
        tasks.cancel_scope.cancel()


async def value(seen: Any) -> Any:
    return seen


async def test_those_at_the_head_are_given_it_with_the_answer_and_read_nothing(database, monkeypatch):
    async with scene(database, monkeypatch, arrive=lambda answer: answer) as stage:
        seqs = [await stage.sees_what_is_appended() for _ in range(5)]
        assert (stage.seen, stage.reads) == (seqs, [])


@pytest.mark.parametrize("wait_s", [listening.ANSWER_WAIT_S, NEVER_S])
async def test_when_the_answer_is_lost_they_read_it_at_the_end_of_a_short_wait(database, monkeypatch, wait_s):
    monkeypatch.setattr(listening, "ANSWER_WAIT_S", wait_s)

    def lose(answer: Any) -> None:
        raise psycopg.OperationalError("the link is gone")

    async with scene(database, monkeypatch, lose) as stage:
        if wait_s == NEVER_S:
            with pytest.raises(AssertionError, match="last seen"):
                await stage.sees_what_is_appended()
            assert stage.seen == [], "the mistake must show, or this test shows nothing"
        else:
            seqs = [await stage.sees_what_is_appended()]
            assert (stage.seen, len(stage.reads)) == (seqs, 1)


class Woken:
    """A listener on a database that is at work for us, and what it told."""

    busy_pid: int | None = OURS

    def __init__(self) -> None:
        self.told: list[set[int] | None] = []
        database: Any = self
        self.listener = Listener(database, "host=127.0.0.1", lambda nos, _: self.told.append(nos), NEVER_S, NEVER_S)


async def test_what_comes_behind_a_notice_that_waits_is_taken_in_order_with_the_answer():
    hub = Woken()
    for backend, payload in ((OURS, b"1 1 7"), (OTHERS, b"2 2 8"), (OTHERS, b"3 3 9m")):
        hub.listener._hear(backend, payload)
    assert (hub.told, hub.listener.is_next(2)) == ([], False)
    hub.listener.committed(1, 1, are_all_told=True)
    assert (hub.told, hub.listener.is_next(4)) == ([{8}, {9}], True)


async def test_and_at_the_end_of_its_wait_without_one(monkeypatch):
    monkeypatch.setattr(listening, "ANSWER_WAIT_S", 0.01)
    hub = Woken()
    for backend, payload in ((OURS, b"1 1 7"), (OTHERS, b"2 2 8")):
        hub.listener._hear(backend, payload)
    await eventually(lambda: value(hub.told), lambda told: told == [{7}, {8}], SOON_S)
    assert hub.listener.is_next(3)


async def test_a_notice_that_comes_after_its_answer_waits_for_no_other_answer_and_keeps_none_back():
    """Its backend is at work on the next append, which may wait for the append lock."""
    hub = Woken()
    hub.listener.committed(1, 1, are_all_told=False)
    hub.listener._hear(OURS, b"1 1 7")
    hub.listener._hear(OTHERS, b"2 2 8")
    assert hub.told == [{7}, {8}]


@pytest.mark.parametrize("payload", [b"\xff\xfe 1 \xc3", b"", b"1", b"\xc2\xb2 \xc2\xb2 7", b"1 " + b"9" * 6000 + b" 7", b"? x"])
@pytest.mark.parametrize("backend", [OURS, OTHERS])
async def test_a_notice_of_any_bytes_ends_nothing(monkeypatch, payload, backend):
    monkeypatch.setattr(listening, "ANSWER_WAIT_S", 0.01)
    hub = Woken()
    hub.listener._hear(backend, payload)
    hub.listener._hear(OTHERS, b"1 1 8")
    await eventually(lambda: value(hub.told), lambda told: told[-1:] == [{8}], SOON_S)
