"""Store: the log without HTTP: database, committer and reader in this process, put together as the hub does."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio

from bench.messages import message, new_append_id
from eventstore.append import AppendRequest, NewEvent, append_key
from eventstore.committer import Committer
from eventstore.db import Database
from eventstore.ids import new_session_id
from eventstore.read import Reader
from eventstore.redact import Redactor
from eventstore.settings import Settings
from eventstore.wire.codec import quote

_redactor = Redactor(False)  # the text is known; what redaction costs is in the figures over HTTP
_META = _redactor.clean("{}")


@dataclass(frozen=True)
class Store:
    """A log that is open."""

    database: Database
    committer: Committer
    reader: Reader

    async def append(self, session_id: str, count: int = 1) -> int:
        """Append `count` messages in one request and return how many."""
        await self.committer.submit(AppendRequest([_message(session_id) for _ in range(count)], writer_no=1))
        return count

    async def append_large(self, session_id: str, event: NewEvent) -> None:
        """Append an event made before, under a new id."""
        append_id = new_append_id()
        again = NewEvent(
            kind=event.kind,
            session_id=session_id,
            append_id=append_id,
            append_key=append_key(session_id, append_id),
            body_hash=event.body_hash,
            body=event.body,
            role=event.role,
        )
        await self.committer.submit(AppendRequest([again], writer_no=1))

    async def snapshot(self, session_id: str) -> tuple[int, int]:
        """Take a snapshot at a session's head; return its number and the seq that it covers."""
        head: int = (await self.reader.session_row(session_id))["head_seq"]
        append_id = new_append_id()
        event = NewEvent(
            kind="snapshot.created",
            session_id=session_id,
            append_id=append_id,
            append_key=append_key(session_id, append_id),
            body_hash=hashlib.sha256(append_id.encode()).digest()[:16],
            body=_redactor.clean(f'{{"up_to_seq":{head},"commit_msg":"bench","meta":{{}}}}'),
            facts={"up_to_seq": head, "commit_msg": "bench"},
        )
        (appended,) = await self.committer.submit(AppendRequest([event], writer_no=1))
        return appended.seq, head

    async def fork(self, parent_id: str, facts: dict[str, Any]) -> str:
        """Fork a session, with facts as the hub derives them, and return the fork's id."""
        event = _creation(new_session_id())
        again = replace(event, kind="session.forked", session_id=parent_id, facts={**facts, "session_id": event.new_id})
        await self.committer.submit(AppendRequest([again], writer_no=1))
        return event.new_id or ""

    async def new_sessions(self, count: int) -> list[str]:
        """Create sessions and return their ids."""
        ids = [new_session_id() for _ in range(count)]
        for session_id in ids:
            await self.committer.submit(AppendRequest([_creation(session_id)], writer_no=1))
        return ids


@asynccontextmanager
async def open_store(dsn: str) -> AsyncIterator[Store]:
    """A log that is open, with its committer running, while the context is."""
    settings = Settings(dsn=dsn)
    database = Database(settings, dsn)
    await database.open()
    try:
        committer = Committer(database, lambda commit: False, settings.queue_requests_max, settings.queue_bytes_max)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(committer.run)
            yield Store(database, committer, Reader(database))
            tasks.cancel_scope.cancel()
    finally:
        await database.close()


def large_event(session_id: str, content: str) -> NewEvent:
    """Return a message with this content, to be appended with `append_large`."""
    return _message(session_id, content)


def _message(session_id: str, content: str | None = None) -> NewEvent:
    append_id = new_append_id()
    sent = message(append_id, content)
    return NewEvent(
        kind="message.appended",
        session_id=session_id,
        append_id=append_id,
        append_key=append_key(session_id, append_id),
        body_hash=hashlib.sha256(sent).digest()[:16],
        body=_redactor.clean(sent.decode()),
        role="assistant",
    )


def _creation(session_id: str) -> NewEvent:
    return NewEvent(
        kind="session.created",
        session_id=None,
        new_id=session_id,
        append_id=session_id,
        append_key=append_key("project bench", session_id),
        body_hash=hashlib.sha256(session_id.encode()).digest()[:16],
        body=_redactor.clean(f'{{"project_id":"bench","meta":{{}},"session_id":{quote(session_id)}}}'),
        meta=_META,
        facts={"session_id": session_id, "project_id": "bench"},
    )
