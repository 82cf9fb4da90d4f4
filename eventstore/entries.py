"""Entries: a session whole, as it is handed to another agent: its messages with what they keep for the way home, and the native
records between them, over its whole lineage, in order."""

from collections.abc import AsyncIterator

from eventstore.db import Database
from eventstore.lineage import SEQ_MAX, Part, parts_after
from eventstore.read import PAGE_BYTES_MAX, PAGE_COUNT_MAX, SessionRef
from eventstore.upcast import lifted
from eventstore.wire.codec import quote
from eventstore.wire.message import served_message, with_native

Entry = tuple[int, bytes | None]
PURGED = b'{"purged":true}'


async def entries(database: Database, ref: SessionRef) -> AsyncIterator[list[Entry]]:
    """Yield pages of a session's entries, each a seq and a JSON object: a message as it is read with `native`, or
    `{append_id, agent, version, records}`. None stands for one that was purged. A deleted session is read too."""
    for part in (*ref.lineage, Part(ref.session_no, SEQ_MAX, ref.session_id)):
        after_seq = 0
        while after_seq < part.to_seq:
            found = await _own(database, part, after_seq, PAGE_COUNT_MAX)
            if not found:
                break
            yield found
            after_seq = found[-1][0]


async def entries_page(database: Database, ref: SessionRef, after_seq: int, max_count: int) -> list[Entry]:
    """Return entries with seq > `after_seq`, as `entries` gives them; none where there are no more."""
    for part in parts_after(ref.lineage, ref.session_no, ref.session_id, after_seq):
        if found := await _own(database, part, after_seq, max_count):
            return found
    return []


async def _own(database: Database, part: Part, after_seq: int, max_count: int) -> list[Entry]:
    """A page of a session's own entries, up to where the part ends."""
    rows = await database.call(
        "read_entries",
        session_no=part.session_no,
        after_seq=after_seq,
        up_to_seq=part.to_seq,
        max_count=max_count,
        max_bytes=PAGE_BYTES_MAX,
    )
    return [
        (seq, _entry(part.session_id, seq, kind, append_id, body if old is None else lifted(body, old), native))
        for seq, kind, append_id, body, native, _, old in rows
    ]


def _entry(session_id: str, seq: int, kind: str, append_id: str, body: bytes, native: bytes | None) -> bytes | None:
    if body == PURGED:
        return None
    if kind == "message.appended":
        return with_native(served_message(session_id, seq, body), native)
    return b'{"append_id":%b,%b' % (quote(append_id).encode(), body[1:])
