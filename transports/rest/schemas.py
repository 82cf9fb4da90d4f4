"""JSON Schemas (2020-12) of what is sent and answered over REST, by the names that `/openapi.json` has them under.

A body may hold nothing else than its schema names; an answer may come to hold more.
"""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
OBJECT: Schema = {"type": "object"}
MOMENT: Schema = {"type": "string", "format": "date-time"}
SEQ: Schema = {"type": "integer", "minimum": 1, "description": "Place in the log."}
HEAD: Schema = {"type": "integer", "minimum": 0, "description": "The last seq; 0 for none."}
APPEND_ID: Schema = {
    "type": ["string", "null"],
    "minLength": 1,
    "maxLength": 200,
    "description": "The writer's idempotency key: what has it is written once.",
}
META: Schema = {"type": ["object", "null"]}
PROJECT_ID: Schema = {"type": "string", "minLength": 1, "maxLength": 200}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def array(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _answer(needed: dict[str, Schema], more: dict[str, Schema] | None = None) -> Schema:
    return {"type": "object", "required": list(needed), "properties": needed | (more or {})}


def _body(needed: dict[str, Schema], more: dict[str, Schema]) -> Schema:
    required = {"required": list(needed)} if needed else {}
    return {"type": "object", **required, "properties": needed | more, "additionalProperties": False}


_EXPECTED: Schema = {
    "type": ["integer", "null"],
    "minimum": 0,
    "description": "The session's head as the writer believes it to be.",
}

BODIES: dict[str, Schema] = {
    "NewSession": _body({"project_id": PROJECT_ID}, {"meta": META, "append_id": APPEND_ID}),
    "NewMessages": {
        "anyOf": [
            ref("Message"),
            _body({"messages": array(ref("Message"), minItems=1, maxItems=1000)}, {"expected_seq": _EXPECTED}),
        ]
    },
    "NewNative": _body(
        {"agent": {"type": "string", "minLength": 1}, "records": array({})},
        {"version": {"type": ["string", "null"]}, "append_id": APPEND_ID},
    ),
    "MetaPatch": {"type": "object", "description": "A merge patch (RFC 7396): null takes a member out."},
    "NewSnapshot": _body(
        {"session_id": TEXT},
        {
            "commit_msg": {"type": ["string", "null"]},
            "up_to_seq": {"type": ["integer", "null"], "minimum": 0},
            "meta": META,
            "append_id": APPEND_ID,
        },
    ),
    "NewFork": _body({}, {"project_id": or_null(PROJECT_ID), "meta": META, "append_id": APPEND_ID}),
    "Purge": {"oneOf": [_body({"session_id": TEXT}, {}), _body({"seq": SEQ}, {})]},
}

_HITS: Schema = {"type": "object", "additionalProperties": COUNT, "description": "How often each redaction rule hit."}
_WRITTEN: dict[str, Schema] = {"seq": SEQ, "append_id": TEXT, "duplicate": TRUTH}
_REDACTED: dict[str, Schema] = {"redactions": _HITS}
_ITEM = _answer({"path": TEXT, "reason": TEXT, "count": COUNT, "example": TEXT})
_WINDOW: dict[str, Schema] = {"next_after_seq": COUNT, "head_seq": HEAD, "has_more": TRUTH, "log_id": TEXT}
_NEXT: dict[str, Schema] = {"next": {"type": ["string", "null"], "description": "The cursor of the next page; null at the end."}}
_SIDE = _answer({"id": TEXT, "session_id": TEXT, "messages": array(ref("ReadMessage")), "next_after_seq": COUNT, "has_more": TRUTH})
_RELATIVE: dict[str, Schema] = {"session_id": TEXT, "project_id": TEXT}
_SESSION: dict[str, Schema] = {
    "session_id": TEXT,
    "seq": SEQ,
    "project_id": TEXT,
    "meta": OBJECT,
    "head_seq": HEAD,
    "message_count": COUNT,
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
_WHERE: dict[str, Schema] = {"session_id": TEXT, "agent": TEXT, "version": TEXT, "native_session_id": TEXT}

ANSWERS: dict[str, Schema] = {
    "SessionCreated": _answer({"session_id": TEXT, **_WRITTEN, "log_id": TEXT}, _REDACTED),
    "Sessions": _answer({"sessions": array(ref("Session")), **_NEXT}),
    "Session": _answer(_SESSION, {"parent_session_id": TEXT, "parent_snapshot_id": TEXT}),
    "ReadMessage": {"anyOf": [ref("Message"), _answer({"session_id": TEXT, "seq": SEQ, "purged": {"const": True}})]},
    "Messages": _answer({"session_id": TEXT, "messages": array(ref("ReadMessage")), **_WINDOW}),
    "Entries": _answer({"session_id": TEXT, "entries": array(ref("Entry")), "next_after_seq": COUNT, "log_id": TEXT}),
    "Entry": {
        "anyOf": [
            ref("Message"),
            _answer({"append_id": TEXT, "agent": TEXT, "version": TEXT, "records": array({})}),
            _answer({"seq": SEQ, "purged": {"const": True}}),
        ]
    },
    "MetaPatched": _answer({"ok": TRUTH, **_WRITTEN, "meta": OBJECT}, _REDACTED),
    "Deleted": _answer({"ok": TRUTH, "seq": SEQ, "duplicate": TRUTH}),
    "Written": _answer(_WRITTEN, _REDACTED),
    "MessagesWritten": {
        "anyOf": [
            ref("Written"),
            _answer({"results": array(_answer(_WRITTEN)), "duplicate": TRUTH}, _REDACTED),
        ]
    },
    "Lineage": _answer(
        {
            **_SESSION,
            "parents": array(_answer({**_RELATIVE, "snapshot_id": TEXT, "up_to_seq": COUNT, "deleted": TRUTH})),
            "forks": array(_answer({**_RELATIVE, "snapshot_id": TEXT, "up_to_seq": COUNT, "created_at": MOMENT})),
            "snapshots": array(ref("Snapshot")),
            "subagents": array(_answer({**_RELATIVE, "created_at": MOMENT})),
        }
    ),
    "Report": _answer(
        {"agent": TEXT, "version": TEXT, "direction": {"enum": ["to_standard", "from_standard"]}, "counts": OBJECT}
        | {kind: array(_ITEM) for kind in ("dropped", "degraded", "kept_native", "synthesised", "warnings")}
    ),
    "Exported": _answer(
        {
            **_WHERE,
            "head_seq": HEAD,
            "purged": COUNT,
            "left_out": array(TEXT),
            "report": ref("Report"),
            "subagents": array(_answer({"session_id": TEXT, "native_session_id": TEXT, "report": ref("Report")})),
            "log_id": TEXT,
            "files": array({"anyOf": [_answer({"name": TEXT, "content": TEXT}), _answer({"name": TEXT, "content_base64": TEXT})]}),
        }
    ),
    "Imported": _answer(
        {
            **_WHERE,
            "project_id": TEXT,
            "created": TRUTH,
            **dict.fromkeys(("found", "appended", "repeated", "native"), COUNT),
            "notes": array(TEXT),
            "head_seq": HEAD,
            "duplicate": TRUTH,
            "report": ref("Report"),
            "log_id": TEXT,
        },
        _REDACTED,
    ),
    "SnapshotCreated": _answer({"snapshot_id": TEXT, "up_to_seq": COUNT, **_WRITTEN}, _REDACTED),
    "Snapshot": _answer(
        {"snapshot_id": TEXT, "session_id": TEXT, "seq": SEQ, "created_at": MOMENT, "up_to_seq": COUNT},
        {"commit_msg": {"type": ["string", "null"]}, "meta": META, "purged": TRUTH},
    ),
    "Snapshots": _answer({"snapshots": array(ref("Snapshot")), **_NEXT}),
    "Forked": _answer({"session_id": TEXT, "parent_snapshot_id": TEXT, **_WRITTEN}, _REDACTED),
    "Diff": _answer({"common": _answer({"up_to_seq": COUNT}), "a": _SIDE, "b": _SIDE}),
    "Log": _answer({"events": array(ref("Event")), **_WINDOW}),
    "Event": _answer(
        {
            "seq": SEQ,
            "session_id": {"type": ["string", "null"]},
            "kind": TEXT,
            "append_id": TEXT,
            "created_at": MOMENT,
            "payload": OBJECT,
        }
    ),
    "ArchiveJobs": _answer(
        {
            "jobs": array(
                _answer(
                    {
                        "snapshot_id": TEXT,
                        "session_id": TEXT,
                        "up_to_seq": COUNT,
                        "status": {"enum": ["pending", "running", "done", "failed"]},
                        "retry_count": COUNT,
                        "last_error": {"type": ["string", "null"]},
                        "finished_at": or_null(MOMENT),
                        "commit_id": {"type": ["string", "null"]},
                    }
                )
            ),
            **_NEXT,
        }
    ),
    "Archive": _answer({"repository": TEXT, **dict.fromkeys(("pending", "running", "done", "failed"), COUNT)}),
    "Retried": _answer({"retried": COUNT}),
    "Projections": _answer(
        {
            "projections": array(
                _answer(
                    {
                        "name": TEXT,
                        "version": COUNT,
                        "built_at": MOMENT,
                        "rows": COUNT,
                        "bytes": COUNT,
                        "rebuilt_to": {"type": ["integer", "null"]},
                    }
                )
            ),
            "head_seq": HEAD,
        }
    ),
    "LogChecked": _answer(
        {"dense": TRUTH, "events": COUNT, "head_seq": HEAD, "first_missing": {"type": ["integer", "null"]}, "log_id": TEXT}
    ),
    "NewEpoch": _answer({"log_id": TEXT, "replaced": TEXT, "head_seq": HEAD}),
    "Health": _answer(
        {
            "status": TEXT,
            "live": {"enum": ["notify", "polling"]},
            "database": {"enum": ["up", "down"]},
            "replica": TRUTH,
            "redaction": {"enum": ["on", "off"]},
            "head_seq": HEAD,
            "log_id": TEXT,
            "waiting": COUNT,
        }
    ),
    "Ready": _answer({"status": {"const": "ready"}}),
    "Step": {
        "description": "One line: how far it has come, or at the end what came of it.",
        "anyOf": [_answer({"progress": OBJECT}), _answer({"result": OBJECT}), _answer({"error": OBJECT})],
    },
    "Problem": _answer(
        {"type": TEXT, "title": TEXT, "status": {"type": "integer"}, "code": TEXT, "detail": TEXT, "retryable": TRUTH},
        {"request_id": TEXT},
    ),
}

# Answered with 201 when something was written, with 200 when all of it was there.
CREATED = frozenset({"SessionCreated", "MessagesWritten", "Written", "Imported", "SnapshotCreated", "Forked"})
