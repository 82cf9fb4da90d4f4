"""Hermes to standard messages: an exported session in, what the hub shall append out.

**What is a message.** Every live row (`active` is not 0) of a role that the model knows, in the order they stand, which is that of
their numbers: times go back when a clock is set. Rows that a compaction replaced or a rewind took back are native records.

**When the session grows.** A row that is written stays as it is, but for what `records.MUTABLE` names; that is in the session's
native record. Append ids are made of what a row says, so they stay when the session is imported elsewhere and its rows get new
numbers. `off_branch` names what is no longer live; there a follower has to fork.

**The way home** (`home`) gives the export back, value by value.
"""

from collections.abc import Iterable
from typing import Any

from adapters.conversion import Conversion, Json, Message
from adapters.hermes.fields import SESSION_FIELDS, account_dead, account_row, account_session
from adapters.hermes.messages import Around, call_names, convert
from adapters.hermes.natives import session_record
from adapters.hermes.records import AGENT, as_kept, documents, keys_of, lasting, model_config_of, rows_of, version_of, why_dead
from adapters.native_batches import batches, unreadable
from adapters.report import Report
from adapters.values import text_of

OTHERS = "a file of several sessions: this is the first; each of the others is read by itself"


def read(lines: Iterable[bytes], *, is_final: bool = True) -> Conversion:
    """Convert an export, given as its lines: the first session of it. Never raises for what they hold."""
    found = documents(lines)
    value, raw, problem = next((item for item in found if isinstance(item[0], dict)), found[0] if found else (None, b"", "empty"))
    if not isinstance(value, dict):
        return unreadable(AGENT, "sessions", raw, problem or "JSON, but no object")
    return read_document(value, is_final=is_final, others=len(found) - 1)


def read_document(document: Json, *, is_final: bool = True, others: int = 0) -> Conversion:
    """Convert a session, made of the values of `eventstore.wire.codec`: its columns and its rows, dead ones among them or not.

    `is_final=False` is for a session that runs: the newest native records wait. `others`: sessions that stand beside it.
    """
    version = version_of(document)
    report = Report(AGENT, version, "to_standard")
    report.found("sessions", 1 + others)
    report.converted("sessions")
    if others:
        report.note("dropped", "sessions/other", OTHERS, "line 2", others)
    rows = rows_of(document)
    keys = keys_of(rows)
    dead = {place: why for place, row in enumerate(rows) if (why := why_dead(row))}
    messages = _messages(document, rows, keys, dead, version, report)
    records = []
    for place, why in dead.items():
        account_dead(report, rows[place], why, f"row {place + 1}")
        records.append((place + 1, {"key": keys[place], **as_kept(lasting(rows[place]))}))
    meta = _meta(document)
    rest = {name: value for name, value in document.items() if name != "messages" or not isinstance(value, list)}
    account_session(report, rest, {name for name in SESSION_FIELDS if text_of(document, name)})
    natives, held = batches(AGENT, version, records, closed_only=not is_final)
    closing, waiting = batches(AGENT, version, [(0, session_record(document, keys))], closed_only=not is_final)
    return Conversion(
        agent=AGENT,
        version=version,
        meta=meta,
        entries=(*messages, *natives, *closing),
        report=report.to_dict(),
        off_branch={keys[place]: why.partition(":")[0] for place, why in dead.items()},
        held_records=held + waiting,
    )


def _messages(
    document: Json, rows: list[Any], keys: list[str], dead: dict[int, str], version: str, report: Report
) -> list[Message]:
    messages: list[Message] = []
    names: dict[str, str] = {}
    is_subagent = bool(_parent(document).get("subagent"))
    unanswered: dict[str, str] = {}
    for place, row in enumerate(rows):
        if place in dead:
            continue
        where = f"row {place + 1}"
        names |= call_names(row)
        parent = messages[-1].native_id if messages else None
        done = convert(row, Around(keys[place], place + 1, version, parent, names, is_subagent))
        messages.append(done.message)
        body = done.message.body
        report.found("rows")
        report.converted("rows")
        report.message(body["role"])
        account_row(report, row, where, done.unsaid)
        for path in done.made_up:
            report.note("synthesised", f"fields/{path}", "the row has none that is usable; made from what it says", where)
        unanswered |= {call["id"]: where for call in body.get("tool_calls", ())}
        unanswered.pop(body.get("tool_call_id", ""), None)
    for where in unanswered.values():
        report.warn("rows/assistant", "a call has no result among the live rows", where)
    return messages


def _meta(document: Json) -> Json:
    """What the session says of itself. What is not known is not in it."""
    known: Json = {
        "title": text_of(document, "title"),
        "agent_source": AGENT,
        "native_session_id": text_of(document, "id"),
        "cwd": text_of(document, "cwd"),
        "git_branch": text_of(document, "git_branch"),
        "model": text_of(document, "model"),
        "source": text_of(document, "source"),
        **_parent(document),
    }
    return {name: value for name, value in known.items() if value}


def _parent(document: Json) -> Json:
    """How a session hangs on another: started by it, a branch of it, or what it became when it was compressed."""
    parent, config = text_of(document, "parent_session_id"), model_config_of(document)
    starter = text_of(config, "_delegate_from")
    if starter or text_of(document, "source") in ("subagent", "tool"):
        link = {"agent_id": text_of(document, "id"), "parent_session_id": starter or parent}
        return {"subagent": {name: value for name, value in link.items() if value}}
    if branched := text_of(config, "_branched_from"):
        return {"forked_from": {"session_id": branched}}
    return {"continues": {"session_id": parent}} if parent else {}
