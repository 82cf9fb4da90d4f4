"""A token is looked up again every few seconds: by one caller, while the others go on."""

from typing import Any

import anyio
import pytest

from eventstore.access import _KNOWN_S as KNOWN_S
from eventstore.access import Access
from eventstore.errors import StoreUnavailable, Unauthorized


class Tokens:
    """Stands for the database: one token, and lookups that wait until they may go on."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, None]] = [(1, "admin", None)]
        self.lookups = 0
        self.go_on = anyio.Event()
        self.failure: Exception | None = None

    async def call(self, function: str, **arguments: Any) -> list[tuple[int, str, None]]:
        self.lookups += 1
        await self.go_on.wait()
        if self.failure:
            raise self.failure
        return self.rows


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
async def asked_before(tokens) -> Access:
    """An Access that knows the token, and has to look again."""
    found: Any = Access(tokens)
    tokens.go_on.set()
    await found.principal("tsk_1")
    tokens.go_on, tokens.lookups = anyio.Event(), 0
    for digest, (at, principal) in found._known.items():
        found._known[digest] = (at - 2 * KNOWN_S, principal)
    return found


async def test_while_one_looks_again_the_others_do_not_wait(tokens, asked_before):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked_before.principal, "tsk_1")
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(5):
            for _ in range(100):
                assert (await asked_before.principal("tsk_1")).token_no == 1
        assert tokens.lookups == 1
        tokens.go_on.set()


async def test_a_revoked_token_is_refused_once_that_was_seen(tokens, asked_before):
    tokens.rows = []
    tokens.go_on.set()
    for _ in range(2):
        with pytest.raises(Unauthorized):
            await asked_before.principal("tsk_1")
    assert tokens.lookups == 2


async def test_a_lookup_that_fails_is_made_again_by_the_next(tokens, asked_before):
    tokens.failure = StoreUnavailable()
    tokens.go_on.set()
    with pytest.raises(StoreUnavailable):
        await asked_before.principal("tsk_1")
    tokens.failure = None
    assert (await asked_before.principal("tsk_1")).token_no == 1


async def test_thousands_who_come_at_once_with_a_token_not_looked_up_yet_share_two_lookups(tokens):
    found: Any = Access(tokens)
    numbers: list[int] = []

    async def ask() -> None:
        numbers.append((await found.principal("tsk_1")).token_no)

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            for _ in range(5000):
                tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            tokens.go_on.set()
    assert (numbers, tokens.lookups) == ([1] * 5000, 2)
