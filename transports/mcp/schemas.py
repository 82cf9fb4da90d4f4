"""Schemas of the tools: plain (an object at the top, no combinators, no union types, no boolean schemas), since some clients
drop every tool over one that is not. Every field is described and has an example. The service checks what these cannot say."""

from typing import Any

Schema = dict[str, Any]
SEQ_MAX = 2**53 - 1  # the largest integer that every JSON carries exactly


def field(kind: str, description: str, example: Any, **more: Any) -> Schema:
    """One field of a kind: string, integer, boolean, object, array."""
    return {"type": kind, "description": description, "examples": [example], **more}


def seq_field(description: str, example: int, **more: Any) -> Schema:
    """A whole number from 0."""
    return field("integer", description, example, minimum=0, maximum=SEQ_MAX, **more)


def untyped(description: str, example: Any) -> Schema:
    """A field that may be of several kinds; naming them would need a union."""
    return {"description": description, "examples": [example]}


def record(properties: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """An object with these fields, perhaps others."""
    return {"type": "object", "properties": properties, "required": list(required)}


def arguments(properties: dict[str, Schema], *required: str) -> Schema:
    """The arguments of a tool."""
    return record(properties, required)


def answer(properties: dict[str, Schema], *required: str) -> Schema:
    """What a tool returns. Any answer may have a note."""
    return record({**properties, "note": NOTE}, required)


def checked(listed: Schema) -> Schema:
    """Return what a call is checked against: the listed arguments and no others. A message is the hub's to check, so that its
    refusals are the same everywhere."""
    properties = {name: {"type": "object"} if name == "message" else schema for name, schema in listed["properties"].items()}
    return {**listed, "properties": properties, "additionalProperties": False}


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

PURGED = field("boolean", "Present when what was here is gone, by law or for a leaked secret; nothing else is known of it.", True)
NOTE = field("string", "Present when something could not be carried over MCP as it is and was replaced.", "Lone surrogates …")
CUT = field(
    "object", "Present when it was cut to keep the result short: the resource that has all of it.", {"uri": "session://ses_…"}
)

MESSAGE_IN = record(
    {
        "role": field("string", "Who speaks.", "assistant", enum=["system", "user", "assistant", "tool"]),
        "append_id": APPEND_ID,
        "content": untyped("What is said: a string, null, or a list of OpenAI content parts.", "The test fails in line 12."),
        "tool_calls": untyped(
            "Calls made by an assistant, a list of {id, type: function, function: {name, arguments}}; arguments is the raw string.",
            [{"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"ls"}'}}],
        ),
        "tool_call_id": field("string", "For role tool: the id of the call that this answers.", "call_1"),
        "thinking": untyped("Thinking: null or {content, encrypted, items}.", {"content": "First look.", "encrypted": False}),
        "created_at": untyped("When it was said, RFC 3339 with offset; left out: now.", "2026-11-30T08:00:00Z"),
        "metadata": untyped("An object: model, agent_source, usage, status, origin, and what you like.", {"model": "m-1"}),
        "native": untyped("What an adapter needs to give the agent this message back exactly.", {"agent": "dsh", "version": "4"}),
        "schema_version": untyped("1; left out means 1.", 1),
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
        "metadata": untyped("Where it comes from, model, usage, redactions.", {"agent_source": "claude-code"}),
        "tool_calls": untyped(
            "Calls that the assistant made.", [{"id": "call_1", "type": "function", "function": {"name": "bash"}}]
        ),
        "tool_call_id": untyped("The call that a tool message answers.", "call_1"),
        "purged": PURGED,
        "thinking": untyped("Thinking, null or an object.", {"content": "First look.", "encrypted": False}),
        "cut": field(
            "object",
            "Present when it was cut. Of `field` (absent: content): kept_chars, total_chars, and next_offset to give as offset for"
            " more; is_json: pieces of its JSON text. fields: other fields that were cut and their characters. uri: all of it.",
            {"kept_chars": 5000, "total_chars": 12000000, "next_offset": 5000, "uri": "session://ses_…/messages/42"},
        ),
    },
    ("session_id", "seq"),
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
        "purged": PURGED,
        "cut": CUT,
    },
    ("snapshot_id", "session_id"),
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
        "cut": CUT,
    },
    ("session_id", "project_id", "meta"),
)
