"""Snapshots and forks: a snapshot points at a place in a session, a fork is a session that goes on from there.

Each is one event and copies nothing. What a fork inherits lies below its snapshot's seq and can never change, so its
lineage and head are worked out before the append and stored beside it.
"""

import json
from typing import NamedTuple

from eventstore.access import Principal
from eventstore.append import NewEvent
from eventstore.derive import COMMIT_MSG_CHARS_MAX, clean, meta_facts
from eventstore.errors import InvalidRequest
from eventstore.ids import new_append_id, new_session_id
from eventstore.lineage import Part, inherited
from eventstore.prepare import Writer, Written, add_hits, members, meta_source, written
from eventstore.wire.codec import parse, quote
from eventstore.wire.event import snapshot_id
from eventstore.wire.requests import fork_body, snapshot_body


class Snapshot(NamedTuple):
    """A snapshot as views have it; the columns of `find_snapshot`, its number first."""

    seq: int
    session_id: str
    session_no: int
    up_to_seq: int
    deleted_seq: int | None
    body: bytes
    created_at: object


async def create_snapshot(writer: Writer, who: Principal, text: str) -> Written:
    """Append `snapshot.created` at `up_to_seq`, by default the session's head. Idempotent within the session."""
    body = snapshot_body(text)
    ref = await writer.reader.find(body.text("session_id") or "")
    row = await writer.reader.session_row(ref.session_id)
    up_to_seq = body.number("up_to_seq")
    if up_to_seq is None:
        up_to_seq = row["head_seq"]
    if up_to_seq > row["head_seq"] and row["deleted_seq"] is None:
        detail = f"up_to_seq {up_to_seq} lies beyond the session's head {row['head_seq']}."
        raise InvalidRequest(detail, head_seq=row["head_seq"])
    append_id = body.append_id or new_append_id()
    meta = await writer.meta(meta_source(body) or "{}")
    commit_msg = await writer.meta(quote(body.text("commit_msg") or ""), "commit_msg")
    payload = members({"up_to_seq": str(up_to_seq), "commit_msg": commit_msg.text, "meta": meta.text})
    event = NewEvent(
        kind="snapshot.created",
        session_id=ref.session_id,
        **writer.identity(ref.session_id, body, append_id),
        body=await writer.clean(payload),
        facts={"up_to_seq": up_to_seq, "commit_msg": clean(json.loads(commit_msg.text), COMMIT_MSG_CHARS_MAX)},
    )
    (appended,) = await writer.append(who, [event])
    facts = (await writer.stored(appended.seq)).facts if appended.duplicate else event.facts
    answer = {"snapshot_id": snapshot_id(appended.seq), "up_to_seq": facts["up_to_seq"], "seq": appended.seq}
    return written(answer | {"append_id": append_id}, appended.duplicate, add_hits(commit_msg.hits, meta.hits))


async def fork(writer: Writer, who: Principal, snapshot: Snapshot, text: str) -> Written:
    """Append `session.forked`: a session that reads its parent's messages up to the snapshot. Idempotent within the snapshot."""
    body = fork_body(text)
    parent = await writer.reader.find(snapshot.session_id)
    parent_row = await writer.reader.session_row(snapshot.session_id)
    append_id = body.append_id or new_append_id()
    project_id = body.text("project_id") or parent.project_id
    meta = await writer.meta(meta_source(body) or parent_row["meta"].decode())
    lineage = inherited(parent.lineage, parent.session_no, parent.session_id, snapshot.up_to_seq)
    session_id = new_session_id()
    payload = {
        "project_id": quote(project_id),
        "meta": meta.text,
        "parent_session_id": quote(snapshot.session_id),
        "parent_snapshot_id": quote(snapshot_id(snapshot.seq)),
        "up_to_seq": str(snapshot.up_to_seq),
    }
    event = NewEvent(
        kind="session.forked",
        session_id=snapshot.session_id,
        new_id=session_id,
        **writer.identity(f"snapshot {snapshot.seq}", body, append_id),
        body=await writer.clean(members(payload)),
        meta=meta,
        facts={
            "session_id": session_id,
            "project_id": project_id,
            "parent_no": snapshot.session_no,
            "snapshot_seq": snapshot.seq,
            "up_to_seq": snapshot.up_to_seq,
            "head_seq": await _inherited_head(writer, lineage),
            "lineage_nos": [part.session_no for part in lineage],
            "lineage_tos": [part.to_seq for part in lineage],
            **meta_facts(parse(meta.text)),
        },
    )
    (appended,) = await writer.append(who, [event])
    facts = (await writer.stored(appended.seq)).facts if appended.duplicate else event.facts
    answer = {"session_id": facts["session_id"], "parent_snapshot_id": snapshot_id(snapshot.seq), "seq": appended.seq}
    return written(answer | {"append_id": append_id}, appended.duplicate, dict(meta.hits))


async def _inherited_head(writer: Writer, lineage: tuple[Part, ...]) -> int:
    """The seq of the last message that a lineage holds, 0 for none: mostly in its last part."""
    for part in reversed(lineage):
        head = await writer.reader.head_at(part.session_no, part.to_seq)
        if head:
            return head
    return 0
