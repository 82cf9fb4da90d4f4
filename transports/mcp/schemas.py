"""Schemas of the tools: plain (an object at the top, no combinators, no union types), since some clients drop every tool
over one that is not. Every field is described and has an example. The service checks what these cannot say."""

from typing import Any

Schema = dict[str, Any]


def field(kind: str, description: str, example: Any, **more: Any) -> Schema:
    """One field of a kind: string, integer, boolean, object, array."""
    return {"type": kind, "description": description, "examples": [example], **more}


def untyped(description: str, example: Any) -> Schema:
    """A field that may be of several kinds; naming them would need a union."""
    return {"description": description, "examples": [example]}


def record(properties: dict[str, Schema], required: tuple[str, ...] = (), **more: Any) -> Schema:
    """An object with these fields."""
    return {"type": "object", "properties": properties, "required": list(required), **more}


def arguments(properties: dict[str, Schema], *required: str) -> Schema:
    """The arguments of a tool: these and no others."""
    return record(properties, required, additionalProperties=False)


SESSION_ID = field("string", "The session's id.", "ses_0193fb9c-9f3a-7c21-8d0e-3f5b7a1c2d4e")
SNAPSHOT_ID = field("string", "The snapshot's id.", "snap_42")
PROJECT_ID = field("string", "The project that the session belongs to, 1-200 characters.", "checkout-service")
LIMIT = field("integer", "How many at most.", 50, minimum=1, maximum=1000, default=50)
CURSOR = field("string", "`next` of the page before, to go on from there.", "17")
NEXT = field("string", "Give it as `cursor` for what follows; absent at the end.", "17")
LEFT_OUT = field("integer", "How many items of this page were left out to keep the result short; `next` leads to them.", 12)
META = field("object", "Free data about the session, such as its title; at most 64 KiB.", {"title": "Fix the login"})
APPEND_ID = field(
    "string", "Your idempotency key, 1-200 characters: repeat the call with it and nothing is written twice.", "task-7-step-3"
)
DUPLICATE = field("boolean", "True: it had been written before, and this is the first answer again.", False)
SEQ = field("integer", "Its place in the log, assigned by the hub.", 42)
LOG_ID = field("string", "Which history the seqs belong to; after a restore it is another one.", "log_5f0c.6b0c.1")
REDACTIONS = field("object", "Secrets that were removed before storing, counted by rule.", {"github-token": 1})

MESSAGE_IN = record(
    {
        "role": field("string", "Who speaks.", "assistant", enum=["system", "user", "assistant", "tool"]),
        "append_id": APPEND_ID,
        "content": untyped("What is said: a string, null, or a list of OpenAI content parts.", "The test fails in line 12."),
        "tool_calls": field(
            "array",
            "Calls made by an assistant: {id, type: function, function: {name, arguments}}; arguments is the raw string.",
            [{"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}],
            items={"type": "object"},
        ),
        "tool_call_id": field("string", "For role tool: the id of the call that this answers.", "call_1"),
        "thinking": untyped("Thinking: null or {content, encrypted, items}.", {"content": "First look.", "encrypted": False}),
        "created_at": field("string", "When it was said, RFC 3339 with offset; left out: now.", "2026-11-30T08:00:00Z"),
        "metadata": field("object", "model, agent_source, usage, status, origin, and what you like.", {"model": "m-1"}),
        "native": untyped("What an adapter needs to give the agent this message back exactly.", {"agent": "dsh", "version": "4"}),
        "schema_version": field("integer", "1; left out means 1.", 1),
    },
    ("role",),
)

MESSAGE_OUT = record(
    {
        "session_id": SESSION_ID,
        "seq": SEQ,
        "role": field("string", "Who spoke: system, user, assistant or tool.", "user"),
        "content": untyped("What was said: a string, null, or a list of content parts.", "hello"),
        "append_id": field("string", "The writer's idempotency key.", "m1"),
        "created_at": field("string", "When it was said, by the writer's clock.", "2026-11-30T08:00:00Z"),
        "metadata": field("object", "Where it comes from, model, usage, redactions.", {"agent_source": "claude-code"}),
        "tool_calls": field("array", "Calls that the assistant made.", [], items={"type": "object"}),
        "tool_call_id": field("string", "The call that a tool message answers.", "call_1"),
        "thinking": untyped("Thinking, null or an object.", None),
        "cut": field(
            "object",
            "Present when it was cut: characters kept and in total, the offset to go on from, the uri of all of it.",
            {"kept_chars": 5000, "total_chars": 12000000, "next_offset": 5000, "uri": "session://ses_…/messages/42"},
        ),
    },
    ("session_id", "seq", "role"),
)

SNAPSHOT_OUT = record(
    {
        "snapshot_id": SNAPSHOT_ID,
        "session_id": SESSION_ID,
        "seq": SEQ,
        "up_to_seq": field("integer", "The seq of the last message that it covers.", 41),
        "commit_msg": field("string", "What it was taken for.", "before the refactoring"),
        "meta": META,
        "created_at": field("string", "When it was taken.", "2026-11-30T08:00:00Z"),
    },
    ("snapshot_id", "session_id", "up_to_seq"),
)

SESSION_OUT = record(
    {
        "session_id": SESSION_ID,
        "project_id": PROJECT_ID,
        "meta": META,
        "seq": SEQ,
        "head_seq": field("integer", "The seq of its last message, inherited ones too; 0 for none.", 41),
        "last_seq": field("integer", "The seq of its last event.", 42),
        "message_count": field("integer", "How many messages it has of its own.", 12),
        "created_at": field("string", "When it was created.", "2026-11-30T08:00:00Z"),
        "updated_at": field("string", "When something last happened in it.", "2026-11-30T09:00:00Z"),
        "parent_session_id": field("string", "The session it was forked from, if it was.", "ses_…"),
        "parent_snapshot_id": field("string", "The snapshot it was forked from, if it was.", "snap_42"),
    },
    ("session_id", "project_id", "meta"),
)
