"""Sessions: created, their meta patched, deleted; each an event."""

from dataclasses import replace
from typing import Any

from eventstore.access import Principal
from eventstore.append import NewEvent, append_key
from eventstore.derive import meta_facts
from eventstore.errors import MetaMoved, TooLarge
from eventstore.ids import new_append_id, new_session_id
from eventstore.prepare import Writer, Written, members, meta_source, written
from eventstore.read import SessionRef
from eventstore.wire.codec import dump, parse, quote
from eventstore.wire.message import check_append_id
from eventstore.wire.requests import meta_body, session_body

_META_TRIES = 10


async def create_session(writer: Writer, who: Principal, text: str) -> Written:
    """Append `session.created`. Idempotent within the project."""
    body = session_body(text)
    project_id = body.text("project_id") or ""
    append_id = body.append_id or new_append_id()
    meta = await writer.meta(meta_source(body) or "{}")
    session_id = new_session_id()
    event = NewEvent(
        kind="session.created",
        session_id=None,
        new_id=session_id,
        **writer.identity(f"project {project_id}", body, append_id),
        body=await writer.clean(members({"project_id": quote(project_id), "meta": meta.text})),
        meta=meta,
        facts={"session_id": session_id, "project_id": project_id, **meta_facts(parse(meta.text))},
    )
    (appended,) = await writer.append(who, [event])
    facts = (await writer.stored(appended.seq)).facts if appended.duplicate else event.facts
    answer = {"session_id": facts["session_id"], "seq": appended.seq, "append_id": append_id}
    return written(answer, appended.duplicate, dict(meta.hits))


async def patch_meta(writer: Writer, who: Principal, ref: SessionRef, text: str, append_id: str | None) -> Written:
    """Append `session.meta_updated`, a merge patch (RFC 7396). Idempotent within the session.

    The merged meta is stored beside the event: views take it from there, and a repeat is answered with it. It is made of
    the meta as read before the append, which therefore is refused if another patch came between, and made again.
    """
    body = meta_body(text)
    append_id = new_append_id() if append_id is None else check_append_id(append_id)
    identity = writer.identity(ref.session_id, body, append_id)
    patch = await writer.meta(body.document.text)
    for _ in range(_META_TRIES):
        row = await writer.reader.session_row(ref.session_id)
        event = NewEvent(kind="session.meta_updated", session_id=ref.session_id, **identity, body=None)
        too_large: TooLarge | None = None
        try:
            meta = await writer.meta(dump(merge_patch(parse(row["meta"].decode()), parse(patch.text))))
            event = replace(event, body=patch, meta=meta, facts=meta_facts(parse(meta.text)))
        except TooLarge as error:  # unless the log knows it as a repeat
            too_large = error
        try:
            (appended,) = await writer.append(who, [event], expected_meta=row["meta_seq"])
        except MetaMoved:
            continue
        except TooLarge as error:
            raise too_large or error from None
        writer.reader.forget({ref.session_no})
        after = (await writer.stored(appended.seq)).meta if appended.duplicate else event.meta and event.meta.text.encode()
        answer = {"ok": True, "seq": appended.seq, "meta": parse((after or b"{}").decode()), "append_id": append_id}
        return written(answer, appended.duplicate, dict(patch.hits))
    raise MetaMoved("Many writers change this session's meta; nothing of this patch was written. Try again shortly.")


async def delete_session(writer: Writer, who: Principal, ref: SessionRef, reason: str) -> Written:
    """Append `session.deleted`: reads and appends end, forks go on. Deleting twice is the same as once."""
    event = NewEvent(
        kind="session.deleted",
        session_id=ref.session_id,
        append_id=new_append_id(),
        append_key=append_key(f"delete {ref.session_id}", ""),
        body_hash=writer.hash("delete"),
        body=await writer.clean(members({"reason": quote(reason)})),
    )
    (appended,) = await writer.append(who, [event])
    return written({"ok": True, "seq": appended.seq}, appended.duplicate, {})


def merge_patch(target: Any, patch: Any) -> Any:
    """Return `target` with a JSON merge patch applied (RFC 7396, section 2)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
