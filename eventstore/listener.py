"""Listen: one LISTEN connection a process, and what stands behind it when it is deaf.

Rule 1: a notice says "look again" and nothing more; a lost one costs delay, never data.
Rule 2: on every (re)connect: LISTEN first, then read what changed meanwhile, then wake.
Rule 3: a poll each `poll_s` runs always, whatever the connection says of itself.
Rule 4: only a nonce that comes back through NOTIFY proves that notices arrive: a pooler accepts LISTEN and delivers nothing.
"""

import random
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio
import psycopg

from eventstore.db import Database, checked_dsn, connection_arguments
from eventstore.errors import StoreError

PROBE_WAIT_S = 2.0
PROBE_AGAIN_S = 3.0
RECONNECT_S_MAX = 2.0
_OWN_COMMITS_MAX = 1000


@dataclass
class LogState:
    """What this process last saw of the log: its id, its head, and whether the database takes writes.

    `noticed_seq`: up to here every event was noticed, by notice or by poll; own commits run ahead of it.
    """

    log_id: str = ""
    head_seq: int = 0
    noticed_seq: int = 0
    is_replica: bool = False


class Listener:
    """Wakes through `on_change(session_nos)`; None means that all must look."""

    def __init__(
        self, database: Database, dsn: str, on_change: Callable[[set[int] | None], None], poll_s: float, probe_s: float
    ) -> None:
        self._database, self._dsn = database, checked_dsn(dsn)
        self._on_change = on_change
        self._poll_s, self._probe_s = poll_s, probe_s
        self._own_commits: dict[int, bool] = {}
        self._nonce = ""
        self._nonce_back = anyio.Event()
        self._probe_now = anyio.Event()
        self.state = LogState()
        self.is_live = False
        self.is_database_there = False

    @property
    def live(self) -> str:
        """`notify` while notices are proven to arrive, else `polling`."""
        return "notify" if self.is_live else "polling"

    def committed(self, last_seq: int) -> None:
        """Note a commit of this process, whose readers were woken already: its notice will be passed over."""
        self.state.head_seq = max(self.state.head_seq, last_seq)
        self._own_commits[last_seq] = True
        if len(self._own_commits) > _OWN_COMMITS_MAX:
            self._own_commits.pop(next(iter(self._own_commits)))

    async def start(self) -> None:
        """Read the log's state once. Raises StoreUnavailable, SchemaMissing."""
        await self._read_state()
        self.is_database_there = True

    async def run(self) -> None:
        """Listen, probe and poll until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen)
            tasks.start_soon(self._probe)
            tasks.start_soon(self._poll)

    async def _listen(self) -> None:
        delay_s = 0.1
        while True:
            with suppress(psycopg.Error, OSError, StoreError):
                connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True, **connection_arguments())
                async with connection:
                    await connection.execute("listen tasuki")
                    await self.catch_up()
                    self._probe_now.set()
                    delay_s = 0.1
                    await self._receive(connection)
            self.is_live = False
            await anyio.sleep(delay_s * random.uniform(0.5, 1.0))  # noqa: S311  # jitter, no secret
            delay_s = min(2 * delay_s, RECONNECT_S_MAX)

    async def _receive(self, connection: psycopg.AsyncConnection[Any]) -> None:
        async for notice in connection.notifies():
            head, _, rest = notice.payload.partition(" ")
            if head == "?":
                if rest == self._nonce:
                    self._nonce_back.set()
                continue
            self._noticed(int(head))
            if self._own_commits.pop(int(head), False):
                continue
            self._on_change(None if rest == "*" else {int(no) for no in rest.split()})

    async def _probe(self) -> None:
        while True:
            self._nonce = secrets.token_hex(8)
            self._nonce_back = anyio.Event()
            with suppress(StoreError):
                await self._database.call("notify_probe", nonce=self._nonce)
                with anyio.move_on_after(PROBE_WAIT_S) as waited:
                    await self._nonce_back.wait()
                self.is_live = not waited.cancelled_caught
            self._probe_now = anyio.Event()
            with anyio.move_on_after(self._probe_s if self.is_live else PROBE_AGAIN_S):
                await self._probe_now.wait()

    async def _poll(self) -> None:
        while True:
            await anyio.sleep(self._poll_s * random.uniform(0.9, 1.0))  # noqa: S311  # jitter, no secret
            try:
                await self.catch_up()
                self.is_database_there = True
            except StoreError:
                self.is_database_there = self.is_live = False

    async def catch_up(self) -> None:
        """Look what has changed since this process last noticed, and wake those whom it concerns."""
        before, log_id = self.state.noticed_seq, self.state.log_id
        await self._read_state()
        if self.state.log_id != log_id:
            self._on_change(None)
        elif self.state.head_seq > before:
            rows = await self._database.call("read_changes", after_seq=before, max_count=10_000)
            self._noticed(rows[0][0])
            nos = {row[1] for row in rows}
            self._on_change(None if None in nos else nos)

    def _noticed(self, seq: int) -> None:
        self.state.noticed_seq = max(self.state.noticed_seq, seq)
        self.state.head_seq = max(self.state.head_seq, seq)

    async def _read_state(self) -> None:
        log_id, head_seq, is_replica = (await self._database.call("log_state"))[0]
        if log_id != self.state.log_id:  # another history, or the first look: nothing seen before counts
            self.state.noticed_seq = self.state.head_seq = head_seq
        self.state.log_id, self.state.is_replica = log_id, is_replica
        self.state.head_seq = max(self.state.head_seq, head_seq)
