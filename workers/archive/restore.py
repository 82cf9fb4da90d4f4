"""Restore: an empty hub from the archive alone. Archived seqs and ids stay; `log.gap` stands for what the archive did not hold.

Every session's lines are read at the same time, in the order of their seqs. In memory are all cards, of each session that has not
ended the event that comes next, and a bounded part of the segments.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio.to_thread

from eventstore.append import append_key
from eventstore.db import Database
from eventstore.derive import COMMIT_MSG_CHARS_MAX, clean, message_facts, meta_facts, said_at
from eventstore.errors import RestoreRefused
from eventstore.lineage import Part, inherited
from eventstore.wire.codec import Document, dump, parse_object, quote
from eventstore.wire.event import snapshot_seq
from workers.archive.export import segment_path
from workers.archive.layout import Card
from workers.archive.repository import Repository
from workers.archive.segments import Segments

BATCH_EVENTS = 500
BATCH_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Restored:
    """One event as the archive has it, ready for `restore_events`."""

    seq: int
    session_no: int
    kind: str
    append_id: str
    append_key: bytes
    body: str
    created_at: datetime
    role: str | None = None
    native: str | None = None
    meta: str | None = None
    facts: str = "{}"
    said_at: datetime | None = None


async def restore(database: Database, archive: Path, at: str | None) -> dict[str, Any]:
    """Fill an empty log from a repository, bare or cloned, as its main, or tag `at`, has it.

    Returns `{sessions, events, gaps, head_seq, commit}`. Raises RestoreRefused.
    """
    if (await database.call("last_seq"))[0][0]:
        raise RestoreRefused("The database holds events already. Restore into an empty one: another TASUKI_DATA_DIR or TASUKI_DSN.")
    archived = await anyio.to_thread.run_sync(_Archived, archive, at)
    events = gaps = head = 0
    batch: list[Restored] = []
    size = 0
    for event in archived.events():
        gaps += event.seq - head - 1
        events, head = events + 1, event.seq
        batch.append(event)
        size += len(event.body) + len(event.native or "")
        if len(batch) >= BATCH_EVENTS or size >= BATCH_BYTES:
            await _write(database, batch)
            batch, size = [], 0
    if batch:
        await _write(database, batch)
    await database.call("new_epoch")
    return {"sessions": len(archived.cards), "events": events, "gaps": gaps, "head_seq": head, "commit": archived.commit}


async def _write(database: Database, batch: list[Restored]) -> None:
    def column(name: str) -> list[Any]:
        values = [getattr(event, name) for event in batch]
        return [value.encode() if isinstance(value, str) and name in ("body", "native", "meta") else value for value in values]

    names = ("seq", "session_no", "kind", "role", "append_id", "append_key", "said_at", "created_at")
    arguments = {f"{name}s": column(name) for name in names}
    arguments |= {"bodies": column("body"), "natives": column("native"), "metas": column("meta"), "facts": column("facts")}
    await database.call("restore_events", **arguments)


class _Archived:
    """What a commit of the archive holds."""

    def __init__(self, archive: Path, at: str | None) -> None:
        bare = archive / ".git" if (archive / ".git").exists() else archive
        if not (bare / "HEAD").exists():
            raise RestoreRefused(f"There is no Git repository at {archive}.")
        self._repository = Repository(bare)
        commit = self._repository.tag(f"snapshot-{at.removeprefix('snap_').removeprefix('snapshot-')}") if at else self._newest()
        if commit is None:
            raise RestoreRefused(f"The archive has no snapshot {at!a}." if at else "The archive has no commit on main.")
        self.commit = commit
        self._segments = Segments(self._repository, commit)
        self.cards = {card.session_id: card for card in self._cards()}

    def _newest(self) -> str | None:
        return self._repository.main or self._repository.head

    def _cards(self) -> Iterator[Card]:
        for folder in self._repository.names(self.commit, ("meta",)):
            for name in self._repository.names(self.commit, ("meta", folder)):
                text = self._repository.read(self.commit, ("meta", folder, name))
                yield Card.from_json(text or b"")

    def events(self) -> Iterator[Restored]:
        """Yield every event in seq order."""
        return heapq.merge(*(self._of_session(card) for card in self.cards.values()), key=lambda event: event.seq)

    def _of_session(self, card: Card) -> Iterator[Restored]:
        yield self._creation(card)
        lines = heapq.merge(self._said(card), self._snapshots(card), key=lambda event: event.seq)
        yield from lines
        if card.deleted:
            body = f'{{"reason":{quote(card.deleted["reason"])}}}'
            key = append_key(f"delete {card.session_id}", "")
            at = datetime.fromisoformat(card.deleted["created_at"])
            yield Restored(card.deleted["seq"], card.seq, "session.deleted", "", key, body, at)

    def _creation(self, card: Card) -> Restored:
        meta, project_id = dump(card.meta), card.project_id
        facts: dict[str, Any] = {"session_id": card.session_id, "project_id": project_id, **meta_facts(card.meta)}
        sources = {"project_id": quote(project_id), "meta": meta}
        scope, kind = f"project {project_id}", "session.created"
        if card.parent:
            parent, snapshot, up_to = (card.parent[name] for name in ("session_id", "snapshot_id", "up_to_seq"))
            number = snapshot_seq(snapshot) or 0
            lineage = self._lineage(card)
            sources |= {"parent_session_id": quote(parent), "parent_snapshot_id": quote(snapshot), "up_to_seq": str(up_to)}
            facts |= {"parent_no": self.cards[parent].seq, "snapshot_seq": number, "up_to_seq": up_to}
            facts |= {"lineage_nos": [part.session_no for part in lineage], "lineage_tos": [part.to_seq for part in lineage]}
            facts["head_seq"] = self._head_of(lineage)
            scope, kind = f"snapshot {number}", "session.forked"
        body = "{" + ",".join(f'"{name}":{source}' for name, source in sources.items()) + "}"
        key, at = append_key(scope, card.append_id), datetime.fromisoformat(card.created_at)
        return Restored(card.seq, card.seq, kind, card.append_id, key, body, at, meta=meta, facts=dump(facts))

    def _lineage(self, card: Card) -> tuple[Part, ...]:
        if not card.parent:
            return ()
        parent = self.cards[card.parent["session_id"]]
        return inherited(self._lineage(parent), parent.seq, parent.session_id, card.parent["up_to_seq"])

    def _head_of(self, lineage: tuple[Part, ...]) -> int:
        """The seq of the last message that a fork inherits, 0 for none."""
        for part in reversed(lineage):
            seqs = [line.fields["seq"].as_int() for line in self._lines(self.cards[part.session_id], "sessions")]
            heads: list[int] = [seq for seq in seqs if seq is not None and seq <= part.to_seq]
            if heads:
                return max(heads)
        return 0

    def _said(self, card: Card) -> Iterator[Restored]:
        messages = self._lines(card, "sessions")
        for line in self._lines(card, "events"):
            seq, kind, append_id = line.fields["seq"].as_int(), line.fields["kind"], line.fields["append_id"]
            key, at = append_key(card.session_id, append_id), datetime.fromisoformat(line.fields["created_at"])
            if kind != "message.appended":
                yield Restored(seq, card.seq, kind, append_id, key, line.source("payload"), at)
                continue
            message = next(messages)
            if message.fields["seq"] != line.fields["seq"]:
                raise RestoreRefused(f"{card.session_id}: the archive's lines do not fit together at seq {seq}.")
            yield Restored(
                seq,
                card.seq,
                kind,
                append_id,
                key,
                message.with_members({}, {"session_id", "seq"}),
                at,
                role=message.fields.get("role", "user"),
                native=line.source("native") if "native" in line.fields else None,
                facts=dump(message_facts(message.fields)),
                said_at=said_at(message.fields.get("created_at")),
            )

    def _snapshots(self, card: Card) -> Iterator[Restored]:
        for line in self._lines(card, "snapshots"):
            seq, append_id = line.fields["seq"].as_int(), line.fields["append_id"]
            body = line.with_members({}, {"snapshot_id", "seq", "append_id", "created_at"})
            said = str(line.fields.get("commit_msg") or "")
            facts = {"up_to_seq": line.fields["up_to_seq"].as_int(), "commit_msg": clean(said, COMMIT_MSG_CHARS_MAX)}
            key, at = append_key(card.session_id, append_id), datetime.fromisoformat(line.fields["created_at"])
            yield Restored(seq, card.seq, "snapshot.created", append_id, key, body, at, facts=dump(facts))

    def _lines(self, card: Card, stream: str) -> Iterator[Document]:
        for number in range(1, card.tails[stream].segments + 1):
            for line in self._segments.lines(segment_path(card.session_id, stream, number)):
                yield parse_object(line.decode())
