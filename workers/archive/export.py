"""Export: one snapshot becomes one commit and one tag. Done again after a kill, it ends in the same objects.

The commit holds what its session, and the ancestors that it reads, have up to the snapshot and the archive has not yet. A
snapshot of a point that lies before what is archived gets a commit beside main, which main does not go on from.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import anyio.to_thread

from eventstore.read import SessionRef
from workers.archive.layout import README, STREAMS, Card, Line, Tail, card_path, cut, folder_of, grow, segment_name
from workers.archive.repository import Repository
from workers.archive.source import Source

SIDE = "Tasuki-Side: this point lies before what main holds"
Path = tuple[str, ...]
T = TypeVar("T")


async def export(source: Source, repository: Repository, number: int, session_id: str, up_to_seq: int) -> str:
    """Archive snapshot `number`: commit, tag, main. Returns the commit's id."""
    tag = f"snapshot-{number}"
    commit = await _in_thread(repository.tag, tag)
    if commit is None:
        taken = (await source.snapshots(await source.reader.find(session_id), number - 1, number))[0][1]
        draft = Draft(source, repository, await _in_thread(lambda: repository.main))
        is_side = await draft.fill(session_id, up_to_seq, number)
        message = f"snapshot {number}: {session_id} up to seq {up_to_seq}\n\n{taken.commit_msg}".rstrip() + "\n"
        message += f"\n{SIDE}\n" if is_side else ""
        commit = await _in_thread(repository.commit, draft.parent, draft.change, message, taken.created_at)
        await _in_thread(repository.name, tag, commit, message, taken.created_at)
    if SIDE not in await _in_thread(repository.message_of, commit):
        await _in_thread(_advance, repository, commit)
    return commit


def _advance(repository: Repository, commit: str) -> None:
    """Let main go on to a commit, unless it has done so already, then and since."""
    if repository.main == repository.parent_of(commit):
        repository.advance(commit)


class Draft:
    """What a commit changes: files by their path. Contents are written as they are made, so that none is held for long."""

    def __init__(self, source: Source, repository: Repository, parent: str | None) -> None:
        self._source, self._repository, self.parent = source, repository, parent
        self.change: dict[Path, str | None] = {}

    async def fill(self, session_id: str, up_to_seq: int, number: int) -> bool:
        """Take in all that the snapshot needs. Returns whether it lies before what is archived."""
        if self.parent is None:
            self.change["README.md",] = self._repository.put(README.encode())
        ref, chain = await self._source.chain(session_id, up_to_seq)
        is_side = False
        for one, to_seq in chain:
            before = await self._card(one)
            archived_to = before.tails["events"].last_seq if before else 0
            if one is ref and archived_to > to_seq:
                assert before is not None
                card, is_side = await _in_thread(self._cut_back, before, to_seq), True
            else:
                card = await self._add(one, before, to_seq)
            await self._finish(one, card, number if one is ref else 0)
        return is_side

    async def _card(self, ref: SessionRef) -> Card | None:
        text = await _in_thread(self._repository.read, self.parent, card_path(ref.session_id))
        return Card.from_json(text) if text else None

    async def _add(self, ref: SessionRef, before: Card | None, to_seq: int) -> Card:
        card = await self._source.card(ref)
        tails = dict(before.tails) if before else {stream: Tail() for stream in STREAMS}
        async for page in self._source.lines(ref, tails["events"].last_seq, to_seq):
            for stream, lines in page.items():
                tails[stream] = await _in_thread(self._grow, ref.session_id, stream, tails[stream], lines)
        return replace(card, tails=tails)

    async def _finish(self, ref: SessionRef, card: Card, number: int) -> None:
        """Add the snapshots up to this one, and the card."""
        known = await self._source.snapshots(ref, card.tails["snapshots"].last_seq, number)
        lines = [line for line, _ in known]
        tail = await _in_thread(self._grow, ref.session_id, "snapshots", card.tails["snapshots"], lines)
        card = replace(card, tails={**card.tails, "snapshots": tail})
        self.change[card_path(ref.session_id)] = self._repository.put(card.to_json())

    def _grow(self, session_id: str, stream: str, tail: Tail, lines: list[Line]) -> Tail:
        last = self._segment(session_id, stream, tail.segments) if tail.segments else b""
        tail, changed = grow(tail, last, lines)
        for number, content in changed.items():
            self.change[segment_path(session_id, stream, number)] = self._repository.put(content)
        return tail

    def _cut_back(self, card: Card, to_seq: int) -> Card:
        tails = dict(card.tails)
        for stream in ("sessions", "events"):
            tails[stream], changed = cut(tails[stream], self._down(card, stream), to_seq)
            for number, content in changed.items():
                kept = None if content is None else self._repository.put(content)
                self.change[segment_path(card.session_id, stream, number)] = kept
        return replace(card, tails=tails)

    def _down(self, card: Card, stream: str) -> Iterator[tuple[int, bytes]]:
        for number in range(card.tails[stream].segments, 0, -1):
            yield number, self._segment(card.session_id, stream, number)

    def _segment(self, session_id: str, stream: str, number: int) -> bytes:
        path = segment_path(session_id, stream, number)
        written = self.change.get(path)
        if written is not None:
            return self._repository.content(written)
        return self._repository.read(self.parent, path) or b""


def segment_path(session_id: str, stream: str, number: int) -> Path:
    """Return where a segment lies."""
    return stream, folder_of(session_id), segment_name(session_id, number)


async def _in_thread(function: Callable[..., T], *arguments: Any) -> T:
    return await anyio.to_thread.run_sync(function, *arguments)
