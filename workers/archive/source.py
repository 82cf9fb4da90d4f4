"""Source: what the archive takes from the log: cards and lines, read in pages."""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from eventstore.db import Database
from eventstore.lineage import Part
from eventstore.read import PAGE_BYTES_MAX, PAGE_COUNT_MAX, Reader, SessionRef
from eventstore.upcast import lifted
from eventstore.wire.codec import Document, parse, parse_object, quote
from eventstore.wire.event import snapshot_id
from eventstore.wire.message import served_message
from workers.archive.layout import Card, Line, one_line


class Taken(NamedTuple):
    """A snapshot as the log has it."""

    seq: int
    document: Document
    created_at: Any

    @property
    def commit_msg(self) -> str:
        """What it was taken for, as Git can carry it."""
        text = str(self.document.fields.get("commit_msg") or "")
        return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class Source:
    """Reads for the archive."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.reader = Reader(database)

    async def chain(self, session_id: str, up_to_seq: int) -> tuple[SessionRef, list[tuple[SessionRef, int]]]:
        """Return a session, and all that has to be archived for a snapshot of it: ancestors first, each up to a seq."""
        ref = await self.reader.find(session_id)
        parts = [*ref.lineage, Part(ref.session_no, up_to_seq, session_id)]
        return ref, [(await self.reader.find(part.session_id), min(part.to_seq, up_to_seq)) for part in parts]

    async def card(self, ref: SessionRef) -> Card:
        """Return a session's card, without how far it is archived."""
        row = await self.reader.session_row(ref.session_id)
        creation = (await self._database.call("read_creation", session_no=ref.session_no))[0]
        append_id, created_at, parent_id, snapshot, up_to_seq, deletion_seq, deletion, deleted_at = creation
        parent = {"session_id": parent_id, "snapshot_id": snapshot_id(snapshot), "up_to_seq": up_to_seq} if parent_id else None
        deleted = None
        if deletion_seq is not None:
            deleted = {"seq": deletion_seq, "reason": parse(deletion.decode()).get("reason", ""), "created_at": utc(deleted_at)}
        return Card(
            session_id=ref.session_id,
            project_id=row["project_id"],
            seq=ref.session_no,
            append_id=append_id,
            created_at=utc(created_at),
            meta=parse(row["meta"].decode()),
            meta_seq=row["meta_seq"],
            parent=parent,
            deleted=deleted,
        )

    async def lines(self, ref: SessionRef, after_seq: int, up_to_seq: int) -> AsyncIterator[dict[str, list[Line]]]:
        """Yield pages of the lines that a session has in a range of seqs: of its messages, and of its events."""
        while True:
            rows = await self._database.call(
                "read_entries",
                session_no=ref.session_no,
                after_seq=after_seq,
                up_to_seq=up_to_seq,
                max_count=PAGE_COUNT_MAX,
                max_bytes=PAGE_BYTES_MAX,
            )
            if not rows:
                return
            page: dict[str, list[Line]] = {"sessions": [], "events": []}
            for seq, kind, append_id, body, native, created_at, old_version in rows:
                stored = body if old_version is None else lifted(body, old_version)
                if kind == "message.appended":
                    page["sessions"].append(Line(seq, one_line(served_message(ref.session_id, seq, stored))))
                page["events"].append(Line(seq, event_line(seq, kind, append_id, created_at, native, stored)))
            yield page
            after_seq = rows[-1][0]

    async def snapshots(self, ref: SessionRef, after_seq: int, up_to_seq: int) -> list[tuple[Line, Taken]]:
        """Return the snapshots of a session with a number in a range, as lines and as they are."""
        rows = await self._database.call(
            "list_session_snapshots", session_no=ref.session_no, after_seq=after_seq, up_to_seq=up_to_seq
        )
        found = []
        for seq, append_id, body, created_at in rows:
            head = (
                f'{{"snapshot_id":"{snapshot_id(seq)}","seq":{seq},"append_id":{quote(append_id)},"created_at":"{utc(created_at)}",'
            )
            text = one_line(head.encode() + body[1:])
            found.append((Line(seq, text), Taken(seq, parse_object(body.decode()), created_at)))
        return found


def event_line(seq: int, kind: str, append_id: str, created_at: Any, native: bytes | None, stored: bytes) -> bytes:
    """Return what a message's own line does not say; of native records all."""
    head = f'{{"seq":{seq},"kind":"{kind}","append_id":{quote(append_id)},"created_at":"{utc(created_at)}"'.encode()
    if native is not None:
        head += b',"native":' + native
    if kind != "message.appended":
        head += b',"payload":' + stored
    return one_line(head + b"}")


def utc(moment: Any) -> str:
    """Return a moment as RFC 3339 in UTC."""
    return str(moment.isoformat()).replace("+00:00", "Z")
