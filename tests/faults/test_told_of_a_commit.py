"""A fault while readers are told of a commit: its writer is answered, they have it all the same, and the next commit goes on."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from doors import running_service
from tails import eventually

from eventstore import committer
from eventstore.access import Principal
from transports.service import Service

WHO = Principal(1, "admin")
AT_ONCE_S = 5.0
POLL_S = 9.9  # long after that
WAIT_S = 20.0  # no short wait: it would begin with a read
SAID = "text of a message"

PLACES: dict[str, Callable[[pytest.MonkeyPatch, Service], None]] = {
    "what was written": lambda planted, hub: planted.setattr(committer, "commit_of", faulty),
    "whether it is next": lambda planted, hub: planted.setattr(hub.listener, "is_next", faulty),
    "those who wait": lambda planted, hub: planted.setattr(hub.tails, "committed", faulty),
    "that they were told": lambda planted, hub: planted.setattr(hub.listener, "committed", faulty),
}


def faulty(*_: Any, **__: Any) -> None:
    raise ZeroDivisionError(SAID)


@pytest.mark.parametrize("place", PLACES)
async def test_a_fault_while_readers_are_told_ends_nothing_and_they_look_again(database, cluster, monkeypatch, caplog, place):
    """No notice comes here, and no poll in time."""
    async with running_service(database, listen_dsn=cluster, poll_s=POLL_S) as hub:
        session_id = await created(hub)
        with monkeypatch.context() as planted:
            PLACES[place](planted, hub)
            await has_what_is_appended(hub, session_id)
        assert faults(caplog) == 1
        await has_what_is_appended(hub, session_id)
    assert faults(caplog) == 1
    assert SAID not in caplog.text


async def test_where_that_fails_too_the_notice_wakes_those_who_wait(database, monkeypatch, caplog):
    async with running_service(database, poll_s=POLL_S) as hub:
        session_id = await created(hub)

        async def live() -> str:
            return hub.listener.live

        await eventually(live, lambda live: live == "notify")
        monkeypatch.setattr(hub.tails, "committed", faulty)
        wake = hub.tails.wake

        def faulty_for_all(session_nos: set[int] | None) -> None:
            if session_nos is None:
                faulty()
            wake(session_nos)

        monkeypatch.setattr(hub.tails, "wake", faulty_for_all)
        await has_what_is_appended(hub, session_id)
    assert faults(caplog) == 2


async def test_the_core_is_left_to_readers_where_some_were_given_what_was_written_and_else_not(database, monkeypatch):
    left: list[int] = []
    async with running_service(database, poll_s=POLL_S) as hub:
        monkeypatch.setattr(hub.committer, "_let_them_read", lambda: left.append(hub.tails.waiting))
        session_id = await created(hub)
        await hub.append(WHO, session_id, '{"role":"user","content":"nobody waits"}')
        assert left == []
        await has_what_is_appended(hub, session_id)
        assert left == [0], "after the one who waited had it"


async def created(hub: Service) -> str:
    return str((await hub.create_session(WHO, '{"project_id":"p"}')).answer["session_id"])


async def has_what_is_appended(hub: Service, session_id: str) -> None:
    """Append while somebody waits at the session's head; both are answered at once."""
    _, page = await hub.read(session_id, 0, 1000, 0, False, None)
    seen: list[int] = []

    async def wait() -> None:
        _, more = await hub.read(session_id, page.head_seq, 1000, WAIT_S, False, None)
        seen.extend(more.seqs)

    async def waiting() -> int:
        return hub.tails.waiting

    with anyio.fail_after(AT_ONCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await eventually(waiting, lambda count: count == 1)
            written = await hub.append(WHO, session_id, f'{{"role":"user","content":"{SAID}"}}')
    assert seen == [written.answer["seq"]]


def faults(caplog: pytest.LogCaptureFixture) -> int:
    return sum(record.name == "tasuki.committer" and record.message == "fault" for record in caplog.records)
