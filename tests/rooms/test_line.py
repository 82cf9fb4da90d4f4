"""A line says what the database said, or that the link is gone, at once and on either event loop; it never keeps the loop busy."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import psycopg
import pytest
from proxy import Proxy, proxied
from psycopg.pq import DiagnosticField
from tails import eventually

from eventstore.line import Line, Rows

STATEMENTS = [
    "prepare echo as select $1::text",
    "prepare nap as select pg_sleep($1::integer)::text",
    "prepare inverse as select 1 / $1::integer",
]
LARGE = "x" * 8 * 1024 * 1024
"""More than the buffers of two sockets, and of the proxy between them, take in."""
ANSWER_S = 10.0
SOON_S = 2.0
IDLE_S = 0.2
READS_MAX = 20


class Counting(Line):
    """Counts how often the loop called it."""

    calls = 0

    def _safely(self, step: Callable[[], None]) -> None:
        self.calls += 1
        super()._safely(step)


class WatchesWhatIsBroken(Counting):
    """The mistake that keeps the loop busy."""

    def _end(self, error: Exception) -> None:
        pass


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


@asynccontextmanager
async def connected(dsn: str, kind: type[Counting] = Counting) -> AsyncIterator[tuple[psycopg.AsyncConnection[Any], Counting]]:
    connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True)
    line = kind(connection.pgconn)
    try:
        for statement in STATEMENTS:
            await connection.execute(statement.encode(), prepare=False)
        yield connection, line
    finally:
        line.rest()
        await connection.close()


async def echoed(line: Line, text: str) -> str:
    value = Rows(await line.ask(b"echo", [text], ANSWER_S)).bytes(0, 0)
    assert value is not None
    return value.decode()


def terminate(dsn: str, pid: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select pg_terminate_backend(%s, 5000)", [pid])


async def becomes_unsent(line: Line) -> None:
    async def is_unsent() -> bool:
        return line._is_unsent

    await eventually(is_unsent, bool)


async def test_what_is_asked_is_answered_and_others_may_use_the_connection_in_between(module_database):
    async with connected(module_database) as (connection, line):
        for text in ("", "襷", "x" * 65_536, LARGE):
            assert await echoed(line, text) == text
            line.rest()
            cursor = await connection.execute("select 1")
            assert await cursor.fetchone() == (1,)


async def test_a_refusal_is_an_answer_and_the_line_goes_on(module_database):
    refusals: dict[str, tuple[bytes, list[Any]]] = {
        "22012": (b"inverse", [0]),
        "22021": (b"echo", ["a\0b"]),
        "08P01": (b"echo", []),
        "26000": (b"unknown", []),
    }
    async with connected(module_database) as (_, line):
        for sqlstate, (statement, arguments) in refusals.items():
            result = await line.ask(statement, arguments, ANSWER_S)
            assert result.error_field(DiagnosticField.SQLSTATE) == sqlstate.encode()
            assert await echoed(line, sqlstate) == sqlstate


async def test_what_a_slow_link_does_not_take_at_once_is_sent_as_it_does(module_database):
    with proxied(module_database) as (proxy, dsn):
        async with connected(dsn) as (_, line), anyio.create_task_group() as tasks:
            proxy.block()
            tasks.start_soon(resume_when_unsent, proxy, line)
            assert await echoed(line, LARGE) == LARGE
            assert not line._is_unsent


async def resume_when_unsent(proxy: Proxy, line: Line) -> None:
    await becomes_unsent(line)
    proxy.resume()


async def test_a_link_that_breaks_while_something_is_unsent_is_told_at_once(module_database):
    with proxied(module_database) as (proxy, dsn):
        async with connected(dsn) as (_, line), anyio.create_task_group() as tasks:
            proxy.block()

            async def cut() -> None:
                await becomes_unsent(line)
                proxy.cut()

            tasks.start_soon(cut)
            with anyio.fail_after(SOON_S), pytest.raises(psycopg.OperationalError):
                await echoed(line, LARGE)


async def test_a_backend_that_ends_at_work_is_told_at_once(module_database):
    async with connected(module_database) as (connection, line), anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, terminate, module_database, connection.info.backend_pid)
        with anyio.fail_after(SOON_S), pytest.raises(psycopg.OperationalError):
            await line.ask(b"nap", [60], ANSWER_S)


async def test_a_backend_that_ended_just_before_it_is_asked_is_told_at_once(module_database):
    """The loop was not told of the end yet: the last word, and the reset that answers what is sent to nobody, come together."""
    async with connected(module_database) as (connection, line):
        await echoed(line, "hi")
        terminate(module_database, connection.info.backend_pid)
        with anyio.fail_after(SOON_S), pytest.raises(psycopg.OperationalError):
            await echoed(line, "hi")


@pytest.mark.parametrize("kind", [Counting, WatchesWhatIsBroken])
async def test_a_link_that_ends_while_nothing_is_asked_does_not_keep_the_loop_busy(module_database, kind):
    async with connected(module_database, kind) as (connection, line):
        await echoed(line, "hi")
        terminate(module_database, connection.info.backend_pid)
        await anyio.sleep(IDLE_S)  # the loop's own time
        assert (line.calls < READS_MAX) is (kind is Counting), "the mistake must show, or this test shows nothing"
        if kind is Counting:
            with pytest.raises(psycopg.OperationalError):
                await echoed(line, "hi")


async def test_who_gets_no_answer_in_time_or_leaves_before_it_is_given_no_other_s(module_database):
    for leave in (False, True):
        async with connected(module_database) as (_, line):
            began = time.monotonic()
            if leave:
                with anyio.move_on_after(0.1):
                    await line.ask(b"nap", [60], ANSWER_S)
            else:
                with pytest.raises(TimeoutError):
                    await line.ask(b"nap", [60], 0.1)
            assert time.monotonic() - began < SOON_S
            with pytest.raises(psycopg.OperationalError, match="another command"):
                await echoed(line, "hi")


async def test_every_notice_is_heard_in_order_until_the_link_is_gone(module_database):
    heard: list[tuple[int, bytes]] = []
    async with connected(module_database) as (connection, line), anyio.create_task_group() as tasks:
        await connection.execute("listen told")

        async def tell() -> None:
            with psycopg.connect(module_database, autocommit=True) as other:
                for number in range(500):
                    other.execute("select pg_notify('told', %s)", [f"{number} {'x' * 1000}"])
                expected = [(other.info.backend_pid, f"{number} {'x' * 1000}".encode()) for number in range(500)]
            await eventually(told, lambda count: count == 500)
            assert heard == expected
            terminate(module_database, connection.info.backend_pid)

        async def told() -> int:
            return len(heard)

        tasks.start_soon(tell)
        with anyio.fail_after(ANSWER_S), pytest.raises(psycopg.OperationalError):
            await line.hear(lambda pid, payload: heard.append((pid, payload)))
