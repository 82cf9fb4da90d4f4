"""Diff: where two sessions, or points in them, part ways, by lineage and not by comparing text.

Both sides are read as parts of sessions. Seqs rise along a lineage, so all that is common lies at or below one seq, and all
that only one side has lies above it.
"""

from dataclasses import dataclass

from eventstore.errors import SessionDeleted
from eventstore.fork import Snapshot
from eventstore.lineage import SEQ_MAX, Part, inherited
from eventstore.read import Page, Reader, SessionRef
from eventstore.wire.codec import quote


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a diff: what it is called, the session it is of, and the parts that it reads."""

    name: str
    ref: SessionRef
    parts: tuple[Part, ...]


async def session_side(reader: Reader, session_id: str) -> Side:
    """A whole session. Raises SessionNotFound, SessionDeleted."""
    ref = await reader.find_open(session_id)
    return Side(session_id, ref, (*ref.lineage, Part(ref.session_no, SEQ_MAX, session_id)))


async def snapshot_side(reader: Reader, name: str, snapshot: Snapshot) -> Side:
    """A session up to a snapshot. Raises SessionDeleted."""
    if snapshot.deleted_seq is not None:
        raise SessionDeleted(session_id=snapshot.session_id)
    ref = await reader.find(snapshot.session_id)
    return Side(name, ref, inherited(ref.lineage, ref.session_no, ref.session_id, snapshot.up_to_seq))


def common_up_to(a: tuple[Part, ...], b: tuple[Part, ...]) -> int:
    """Return the seq up to which two sides read the same, 0 when they share nothing; SEQ_MAX when they are one."""
    common = 0
    for mine, theirs in zip(a, b, strict=False):
        if mine.session_no != theirs.session_no:
            break
        common = min(mine.to_seq, theirs.to_seq)
        if mine.to_seq != theirs.to_seq:
            break
    return common


async def only(reader: Reader, side: Side, after_seq: int, max_count: int) -> Page:
    """Return a page of the messages of one side with seq > `after_seq`."""
    parts = [part for part in side.parts if part.to_seq > after_seq]
    if not parts:
        return Page([], [], after_seq)
    return await reader.parts_page(side.ref, parts, after_seq, max_count)


async def diff(reader: Reader, a: Side, b: Side, after: dict[str, int], max_count: int) -> bytes:
    """Return what two sides share and what each has alone, as JSON. `after`: how far each was read, by "a" and "b"."""
    common = common_up_to(a.parts, b.parts)
    sides: list[bytes] = []
    for letter, side in (("a", a), ("b", b)):
        after_seq = max(after.get(letter, 0), common)
        page = await only(reader, side, after_seq, max_count)
        following = page.seqs[-1] if page.seqs else after_seq
        has_more = bool(page.seqs) and bool((await only(reader, side, following, 1)).seqs)
        head = f'"{letter}":{{"id":{quote(side.name)},"session_id":{quote(side.ref.session_id)},"messages":['
        tail = f'],"next_after_seq":{following},"has_more":{str(has_more).lower()}}}'
        sides.append(head.encode() + b",".join(page.items) + tail.encode())
    shared = await last_common(reader, a, b, common)
    return f'{{"common":{{"up_to_seq":{shared}}},'.encode() + b",".join(sides) + b"}"


async def last_common(reader: Reader, a: Side, b: Side, common: int) -> int:
    """Return the seq of the last message that both sides have, 0 for none."""
    for mine, theirs in reversed(list(zip(a.parts, b.parts, strict=False))):
        if mine.session_no == theirs.session_no:
            head = await reader.head_at(mine.session_no, min(mine.to_seq, theirs.to_seq, common))
            if head:
                return head
    return 0
