"""Messages: from a caller's body to `message.appended`, and an agent's records to `native.recorded`."""

import json
from datetime import UTC, datetime
from typing import Any

from eventstore.access import Principal
from eventstore.append import NewEvent
from eventstore.derive import clean, message_facts, said_at
from eventstore.errors import AppendIdReused
from eventstore.ids import new_append_id
from eventstore.prepare import Writer, Written, add_hits, written
from eventstore.read import SessionRef
from eventstore.redact import MESSAGE, NATIVE, Redacted
from eventstore.wire.codec import Number, dump, parse_object, quote
from eventstore.wire.message import stored_message
from eventstore.wire.requests import Body, messages_body, native_body


async def append_messages(writer: Writer, who: Principal, ref: SessionRef, text: str, expected_seq: int | None) -> Written:
    """Append messages, all or none; repeats among them keep their seqs. Idempotent within the session."""
    sent = messages_body(text, writer.settings.request_messages_max)
    events: list[NewEvent] = []
    place: dict[str, int] = {}  # append id -> place in `events`: one request may repeat itself
    hits: list[dict[str, int]] = []
    order: list[int] = []
    for index, body in enumerate(sent.messages):
        append_id = body.append_id or new_append_id()
        if append_id not in place:
            place[append_id] = len(events)
            event, counted = await _message(writer, who, ref, body, append_id)
            events.append(event)
            hits.append(counted)
        elif events[place[append_id]].body_hash != writer.hash(body.canonical):
            raise AppendIdReused(
                f"messages[{index}] has the append_id of another message of this request and another body.",
                append_id=append_id,
                index=index,
            )
        order.append(place[append_id])
    appended = await writer.append(who, events, sent.expected_seq if expected_seq is None else expected_seq)
    results, seen = [], set[int]()
    for at in order:
        is_repeat = appended[at].duplicate or at in seen
        results.append({"seq": appended[at].seq, "append_id": appended[at].append_id, "duplicate": is_repeat})
        seen.add(at)
    new_hits = add_hits(*(counted for one, counted in zip(appended, hits, strict=True) if not one.duplicate))
    answer: dict[str, Any] = {"results": results} if sent.is_list else results[0]
    return written(answer, all(one.duplicate for one in appended), new_hits)


async def record_native(writer: Writer, who: Principal, ref: SessionRef, text: str) -> Written:
    """Append `native.recorded`: records of an agent that are no messages. Idempotent within the session."""
    body = native_body(text)
    append_id = body.append_id or new_append_id()
    source = body.document.with_members({}, {"append_id"})
    redacted = None if writer.is_too_large(source) else await writer.clean(source, NATIVE)
    event = NewEvent(
        kind="native.recorded",
        session_id=ref.session_id,
        **writer.identity(ref.session_id, body, append_id),
        body=redacted,
        facts={
            "agent": clean(json.loads((await writer.clean(quote(body.text("agent") or ""))).text)),
            "records": len(body.document.fields["records"]),
        },
    )
    (appended,) = await writer.append(who, [event])
    return written({"seq": appended.seq, "append_id": append_id}, appended.duplicate, dict(redacted.hits) if redacted else {})


async def _message(writer: Writer, who: Principal, ref: SessionRef, body: Body, append_id: str) -> tuple[NewEvent, dict[str, int]]:
    """The event of one message, and how often each redaction rule hit in it."""
    fields = body.document.fields
    identity = writer.identity(ref.session_id, body, append_id)
    if writer.is_too_large(body.document.text):
        return NewEvent(kind="message.appended", session_id=ref.session_id, role=fields["role"], body=None, **identity), {}
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    agent = ref.agent_source or who.client or "unknown"
    redacted = await writer.clean(stored_message(body.document, append_id, now, {"agent_source": agent}), MESSAGE)
    native = await writer.clean(body.document.source("native"), NATIVE) if fields.get("native") is not None else None
    hits = add_hits(redacted.hits, native.hits) if native else dict(redacted.hits)
    stored = parse_object(redacted.text) if hits else None
    if stored:
        redacted = await writer.clean(_with_redactions(redacted, hits), MESSAGE)
    metadata = (stored.fields if stored else fields).get("metadata") or {}
    event = NewEvent(
        kind="message.appended",
        session_id=ref.session_id,
        role=fields["role"],
        body=redacted,
        native=native,
        facts=message_facts({**(stored.fields if stored else fields), "metadata": {"agent_source": agent, **metadata}}),
        said_at=said_at(fields.get("created_at") or now),
        **identity,
    )
    return event, hits


def _with_redactions(redacted: Redacted, hits: dict[str, int]) -> str:
    """A message's text with `metadata.redactions` counting these hits beside those it came with."""
    document = parse_object(redacted.text)
    metadata = parse_object(document.source("metadata"))
    before = metadata.fields.get("redactions")
    known = {k: v.as_int() or 0 for k, v in before.items() if isinstance(v, Number)} if isinstance(before, dict) else {}
    return document.with_members({"metadata": metadata.with_members({"redactions": dump(add_hits(known, hits))})})
