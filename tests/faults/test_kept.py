"""A kept connection: whatever becomes of it, each call has its own answer, and the next goes on, on another one if need be."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import psycopg
import pytest
from proxy import Proxy, proxied

from eventstore import db
from eventstore.db import Database, Kept
from eventstore.errors import Internal, LogBusy, StoreError, StoreUnavailable
from eventstore.settings import Settings

ANSWER_S = 1.0
SOON_S = 5.0
MESSAGE: dict[str, Any] = {
    "session_id": "ses_unknown",
    "role": "user",
    "append_id": "a",
    "append_key": b"k" * 16,
    "body_hash": b"h",
    "body": b"{}",
    "native": None,
    "facts": "{}",
    "said_at": None,
    "writer_no": 1,
    "version": 1,
}
"""An append that the database answers with null, since there is no such session."""


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


@asynccontextmanager
async def pool(dsn: str) -> AsyncIterator[Database]:
    database = Database(Settings(dsn=dsn, pool_size_max=2, lock_timeout_s=0.2), dsn)
    await database.open()
    database._answer_s = ANSWER_S
    try:
        yield database
    finally:
        with anyio.CancelScope(shield=True):
            await database.close()


async def goes_on(kept: Kept) -> None:
    """Numbers are had again, and by the shorter way."""
    with anyio.fail_after(SOON_S):
        for _ in range(2):
            assert await number(kept, "last_seq") == 0
    assert "last_seq" in kept._prepared
    assert kept.busy_pid is None


async def number(kept: Kept, function: str, **arguments: Any) -> int | None:
    return (await kept.rows(function, **arguments)).int(0, 0)


def terminate(dsn: str, pid: int | None) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select pg_terminate_backend(%s, 5000)", [pid])


async def test_a_call_whose_backend_ended_before_it_is_made_on_another_connection(module_database):
    async with pool(module_database) as database, database.kept() as kept:
        for pause_s in (0, 0.05, 0):  # the loop is told of the end, or not yet
            await goes_on(kept)
            pid = kept._pid
            terminate(module_database, pid)
            await anyio.sleep(pause_s)
            await goes_on(kept)
            assert kept._pid != pid


async def test_a_connection_that_is_kept_again_knows_its_statements_already(module_database):
    async with pool(module_database) as database:
        pids: list[int | None] = []
        for _ in range(4):
            async with database.kept() as kept:
                await goes_on(kept)
                pids.append(kept._pid)
        assert len(set(pids)) == 2, "the pool has no more"


@pytest.mark.parametrize("harm", [Proxy.cut, Proxy.strand], ids=["cut", "silent"])
async def test_a_call_that_is_done_is_answered_though_the_next_can_not_be_prepared(module_database, monkeypatch, harm):
    with proxied(module_database) as (proxy, dsn):
        async with pool(dsn) as database, database.kept() as kept:
            monkeypatch.setattr(kept, "_run", then(kept._run, lambda: harm(proxy)))
            with anyio.fail_after(SOON_S):
                assert await number(kept, "last_seq") == 0
            monkeypatch.undo()
            proxy.resume()
            await put_right(database)
            await goes_on(kept)


async def test_a_call_without_an_answer_is_given_up_and_so_is_its_connection(module_database):
    with proxied(module_database) as (proxy, dsn):
        async with pool(dsn) as database, database.kept() as kept:
            await goes_on(kept)
            proxy.strand()
            with anyio.fail_after(SOON_S), pytest.raises(StoreUnavailable):
                await kept.rows("last_seq")
            await put_right(database)
            await goes_on(kept)


async def test_what_the_database_refuses_is_refused_by_name_either_way_and_the_next_call_goes_on(module_database):
    refusals: list[tuple[type[StoreError], dict[str, Any]]] = [(Internal, {"session_id": "a\0b"}), (LogBusy, {})]
    async with pool(module_database) as database, database.kept() as kept:
        for error, more in refusals:
            for is_prepared in (False, True):
                if is_prepared:
                    assert await number(kept, "append_message", **MESSAGE) is None
                assert ("append_message" in kept._prepared) is is_prepared
                with psycopg.connect(module_database) as other:
                    if error is LogBusy:
                        other.execute("select store.lock_log()")
                    with pytest.raises(error):
                        await kept.rows("append_message", **MESSAGE | more)
                    assert kept.busy_pid is None


async def test_who_leaves_before_the_answer_leaves_it_to_nobody(module_database):
    async with pool(module_database) as database, database.kept() as kept:
        await goes_on(kept)
        assert await number(kept, "append_message", **MESSAGE) is None
        with psycopg.connect(module_database) as other:
            other.execute("select store.lock_log()")
            with anyio.move_on_after(0.1):
                await kept.rows("append_message", **MESSAGE)
            other.rollback()
        await goes_on(kept)
        assert await number(kept, "append_message", **MESSAGE) is None


async def test_a_dedicated_connection_that_breaks_at_its_first_question_is_an_unavailable_database(module_database, monkeypatch):
    async def broken(connection: Any) -> bool:
        await connection.close()
        await connection.execute("select 1")
        return True

    async with pool(module_database) as database:
        monkeypatch.setattr(db, "leads_straight", broken)
        with pytest.raises(StoreUnavailable):
            async with database.dedicated():
                pass


def then(call: Callable[..., Any], happening: Callable[[], None]) -> Callable[..., Any]:
    async def both(*arguments: Any, **more: Any) -> Any:
        rows = await call(*arguments, **more)
        happening()
        return rows

    return both


async def put_right(database: Database) -> None:
    """Have the pool replace what is broken, or silent."""
    await database._pool.drain()
    await database._pool.wait(SOON_S)
