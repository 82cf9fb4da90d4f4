"""Listen: one LISTEN connection a process, and what stands behind it when it is deaf.

Rule 1: a notice says "look again" and nothing more; a lost one costs delay, never data.
Rule 2: on every (re)connect: LISTEN first, then read what changed meanwhile, then wake.
Rule 3: a poll each `poll_s` runs always, whatever the connection says of itself.
Rule 4: only a nonce that comes back through NOTIFY proves that notices arrive: a pooler accepts LISTEN and delivers nothing.
        A connection that did not bring it is replaced, since a half open one never says that it is broken.
Rule 5: nothing that arrives here may end the loops, whoever sent it.
"""

import asyncio
import logging
import random
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
import psycopg

from eventstore.db import Database, checked_dsn, closing, connection_arguments
from eventstore.errors import StoreError
from eventstore.line import Line
from eventstore.sharing import SingleFlight

log = logging.getLogger("tasuki.listener")
PROBE_WAIT_S = 2.0
PROBE_AGAIN_S = 3.0
RECONNECT_S_MIN, RECONNECT_S_MAX = 0.1, 2.0
POLL_ANSWER_S_MAX = 6.0
"""A poll without an answer for that long means that the database is away, though nobody closed a connection."""
ANSWER_WAIT_S = 0.05
"""A commit's own notice waits so long for its answer, which the database sends next."""
_OWN_COMMITS_MAX = 1000
_PATCHED = "m"  # behind a session's number in a notice: its meta was changed
OnChange = Callable[[set[int] | None, set[int]], None]


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
    """Wakes through `on_change(session_nos, patched_nos)`: None means that all must look; of the others, whose meta may be new."""

    def __init__(self, database: Database, dsn: str, on_change: OnChange, poll_s: float, probe_s: float) -> None:
        self._database, self._dsn = database, checked_dsn(dsn)
        self._on_change = on_change
        self._poll_s, self._probe_s = poll_s, probe_s
        self._looks: SingleFlight[bool] = SingleFlight()
        self._own_commits: dict[int, bool] = {}
        self._early: list[bytes] = []
        self._late: asyncio.TimerHandle | None = None
        self._nonce = ""
        self._nonce_back = anyio.Event()
        self._probe_now = anyio.Event()
        self._connection_use = anyio.CancelScope()
        self.state = LogState()
        self.is_live: bool | None = None  # None: not known yet
        self.is_database_there = False

    @property
    def live(self) -> str:
        """`notify` while notices are proven to arrive, else `polling`."""
        return "notify" if self.is_live else "polling"

    def is_next(self, first_seq: int) -> bool:
        """Whether this follows at once on what was noticed, so that nothing unknown lies before it."""
        return first_seq <= self.state.noticed_seq + 1

    def committed(self, first_seq: int, last_seq: int, are_all_told: bool) -> None:
        """Note a commit of this process. Where its readers `are_all_told` of it here, its notice will be passed over."""
        self.state.head_seq = max(self.state.head_seq, last_seq)
        if are_all_told:
            if self.is_next(first_seq):
                self._noticed(last_seq)
            self._own_commits[last_seq] = True
            if len(self._own_commits) > _OWN_COMMITS_MAX:
                self._own_commits.pop(next(iter(self._own_commits)))
        if self._early:
            self._take_early()

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
        delay_s = RECONNECT_S_MIN
        while True:
            cause = "the connection is replaced"
            try:
                with anyio.CancelScope() as self._connection_use:
                    await self._use_connection()
            except (psycopg.Error, OSError, StoreError) as error:
                cause = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
            delay_s = RECONNECT_S_MIN if self.is_live else min(2 * delay_s, RECONNECT_S_MAX)
            self._goes(is_live=False, cause=cause)
            await anyio.sleep(delay_s * random.uniform(0.5, 1.0))  # noqa: S311  # jitter, no secret

    async def _use_connection(self) -> None:
        connection = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True, **connection_arguments())
        async with closing(connection):
            await connection.execute("listen tasuki")
            await self.catch_up()
            self._probe_now.set()
            await Line(connection.pgconn).hear(self._hear)

    def _hear(self, backend_pid: int, payload: bytes) -> None:
        """Take a notice. What a commit of this process says of itself waits for that commit's answer, which is on its way: its
        readers are told then, without a read. One that comes after its answer waits for nothing, nor does what is behind it."""
        if self._early or (backend_pid == self._database.busy_pid and self._is_news(payload)):
            if not self._early:
                self._late = asyncio.get_running_loop().call_later(ANSWER_WAIT_S, self._take_early)
            self._early.append(payload)
        else:
            self._take(payload.decode("utf-8", "replace"))

    def _is_news(self, payload: bytes) -> bool:
        try:
            return int(payload.split(b" ", 2)[1]) > self.state.head_seq
        except (ValueError, IndexError):
            return False

    def _take_early(self) -> None:
        if self._late:
            self._late.cancel()
        early, self._early = self._early, []
        for payload in early:
            self._take(payload.decode("utf-8", "replace"))

    def _take(self, payload: str) -> None:
        """Wake those whom a notice names; all, where it names nobody."""
        first, _, rest = payload.partition(" ")
        if first == "?":
            if rest == self._nonce:
                self._nonce_back.set()
            return
        last, _, names = rest.partition(" ")
        try:
            first_seq, last_seq = int(first), int(last)
            session_nos = None if names == "*" else {int(name.removesuffix(_PATCHED)) for name in names.split()}
            patched_nos = {int(name.removesuffix(_PATCHED)) for name in names.split() if name.endswith(_PATCHED)}
        except ValueError:  # a new epoch, or no notice of ours
            self._on_change(None, set())
            return
        if self.is_next(first_seq):  # else one was lost before it, and the poll has to look from there
            self._noticed(last_seq)
        is_own = self._own_commits.pop(last_seq, False)
        if not is_own or session_nos is None:
            self._on_change(session_nos, patched_nos)

    async def _probe(self) -> None:
        while True:
            self._nonce = secrets.token_hex(8)
            self._nonce_back = anyio.Event()
            with suppress(StoreError):
                await self._database.call("notify_probe", nonce=self._nonce)
                with anyio.move_on_after(PROBE_WAIT_S) as waited:
                    await self._nonce_back.wait()
                if waited.cancelled_caught:
                    self._goes(is_live=False, cause="a notice sent through the pool did not come back")
                    self._connection_use.cancel()
                else:
                    self._goes(is_live=True, cause="a notice sent through the pool came back")
            self._probe_now = anyio.Event()
            with anyio.move_on_after(self._probe_s if self.is_live else PROBE_AGAIN_S):
                await self._probe_now.wait()

    async def _poll(self) -> None:
        while True:
            await anyio.sleep(self._poll_s * random.uniform(0.9, 1.0))  # noqa: S311  # jitter, no secret
            try:
                with anyio.fail_after(POLL_ANSWER_S_MAX):
                    found = await self.catch_up()
            except (StoreError, TimeoutError):
                self._goes(is_live=False, cause="the database does not answer")
                self.is_database_there = False
            else:
                self.is_database_there = True
                if found and self.is_live:  # why did no notice tell?
                    self._probe_now.set()

    def _goes(self, is_live: bool, cause: str) -> None:
        if is_live is not self.is_live:
            self.is_live = is_live
            log.log(logging.INFO if is_live else logging.WARNING, "live", extra={"facts": {"live": self.live, "cause": cause}})

    async def catch_up(self) -> bool:
        """Look what has changed since this process last noticed, and wake those whom it concerns. Return whether there was any."""
        return await self._looks.share(None, self._catch_up)

    async def _catch_up(self) -> bool:
        before = self.state.noticed_seq
        if await self._read_state():
            self._on_change(None, set())
            return True
        if self.state.head_seq <= before:
            return False
        rows = await self._database.call("read_changes", after_seq=before, max_count=10_000)
        self._noticed(rows[0][0])
        nos = {row[1] for row in rows}
        self._on_change(None if None in nos else nos, nos)
        return True

    def _noticed(self, seq: int) -> None:
        self.state.noticed_seq = max(self.state.noticed_seq, seq)
        self.state.head_seq = max(self.state.head_seq, seq)

    async def _read_state(self) -> bool:
        """Return whether this is another history than the one seen before: by its id, or since it went back."""
        known_head = self.state.head_seq
        log_id, head_seq, is_replica = (await self._database.call("log_state"))[0]
        is_other = log_id != self.state.log_id or (head_seq < known_head and not is_replica)
        if is_other:  # nothing seen before counts
            self._own_commits.clear()
            self.state.noticed_seq = self.state.head_seq = head_seq
        self.state.log_id, self.state.is_replica = log_id, is_replica
        self.state.head_seq = max(self.state.head_seq, head_seq)
        return is_other
