"""The tools: name, what it is for, schemas, and the call to the hub that it makes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from eventstore.errors import InvalidMessage
from transports.mcp import schemas as s
from transports.mcp import transcript
from transports.mcp.hub import Hub
from transports.mcp.results import TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN, page_of, result, with_short
from transports.mcp.values import decode

Arguments = dict[str, Any]
WAIT_S_DEFAULT = 25
WAIT_S_MAX = 50
LIMIT_DEFAULT = 50


@dataclass(frozen=True)
class Tool:
    """One tool. `call` makes the answer from checked arguments."""

    name: str
    title: str
    description: str
    input_schema: s.Schema
    output_schema: s.Schema
    call: Callable[[Hub, Arguments], Awaitable[types.CallToolResult]]
    is_read_only: bool = False

    def listed(self) -> types.Tool:
        """The tool as `tools/list` shows it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=self.is_read_only,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )


async def _create_session(hub: Hub, given: Arguments) -> types.CallToolResult:
    answer = decode(await hub.create_session(_only(given, "project_id", "meta", "append_id")))
    return result(f"Session {answer['session_id']} created.", answer)


async def _append_message(hub: Hub, given: Arguments) -> types.CallToolResult:
    message = given["message"]
    if "role" not in message:
        raise InvalidMessage("The message has no `role`. Give one message; append several by as many calls.")
    answer = decode(await hub.append(given["session_id"], message, given.get("expected_seq")))
    how = "was there already" if answer["duplicate"] else "appended"
    return result(f"Message {how}: seq {answer['seq']}, append_id {answer['append_id']}.", answer)


async def _read_session(hub: Hub, given: Arguments) -> types.CallToolResult:
    field, offset = given.get("field", "content"), given.get("offset", 0)
    max_tokens = given.get("max_tokens", TOKENS_DEFAULT)
    wants_piece = offset > 0 or "field" in given
    wait_s = 0 if wants_piece else min(given.get("wait_seconds", WAIT_S_DEFAULT), WAIT_S_MAX)
    limit = 1 if wants_piece else given.get("limit", LIMIT_DEFAULT)
    answer = decode(await hub.read(given["session_id"], given.get("after_seq", 0), limit, wait_s))
    if wants_piece:
        shown, text = transcript.piece(answer, field, offset, max_tokens)
    else:
        shown, text = transcript.page(answer, max_tokens)
    return result(text, shown)


async def _create_snapshot(hub: Hub, given: Arguments) -> types.CallToolResult:
    answer = decode(await hub.create_snapshot(_only(given, "session_id", "commit_msg", "up_to_seq", "append_id")))
    return result(f"Snapshot {answer['snapshot_id']} taken, up to seq {answer['up_to_seq']}.", answer)


async def _list_snapshots(hub: Hub, given: Arguments) -> types.CallToolResult:
    answer = decode(await hub.list_snapshots(given["session_id"], given.get("limit", LIMIT_DEFAULT), given.get("cursor")))
    return page_of(answer, "snapshots", _snapshot_line, "No snapshots.")


async def _load_snapshot(hub: Hub, given: Arguments) -> types.CallToolResult:
    answer = decode(await hub.fork(given["snapshot_id"], _only(given, "meta", "append_id")))
    return result(f"Session {answer['session_id']} goes on from {answer['parent_snapshot_id']}; the original is untouched.", answer)


async def _list_sessions(hub: Hub, given: Arguments) -> types.CallToolResult:
    answer = decode(await hub.list_sessions(given["project_id"], given.get("limit", LIMIT_DEFAULT), given.get("cursor")))
    return page_of(answer, "sessions", _session_line, "No sessions in this project.")


async def _update_session_meta(hub: Hub, given: Arguments) -> types.CallToolResult:
    answer = decode(await hub.update_meta(given["session_id"], given["meta"], given.get("append_id")))
    shown, cut = with_short(answer, "meta", f"session://{given['session_id']}")
    return result(f"Meta updated with seq {answer['seq']}.{cut}", shown)


def _snapshot_line(one: Arguments) -> str:
    if one.get("purged") is True:
        return f"{one['snapshot_id']} was purged"
    return f"{one['snapshot_id']} up to seq {one['up_to_seq']}: {one['commit_msg']}"


def _session_line(one: Arguments) -> str:
    title = str(one["meta"].get("title") or "")[:80]
    return f"{one['session_id']} {title} · {one['message_count']} messages · {one['updated_at']}"


def _only(given: Arguments, *names: str) -> Arguments:
    return {name: given[name] for name in names if name in given}


_EXPECTED_SEQ = s.seq_field("The head you believe you are adding to; if it has moved, nothing is written.", 41)
_APPENDED = {"seq": s.SEQ, "append_id": s.APPEND_ID, "duplicate": s.DUPLICATE, "redactions": s.REDACTIONS}

TOOLS: tuple[Tool, ...] = (
    Tool(
        "create_session",
        "Create a session",
        "Create a session that agents on any host can append to and read.",
        s.arguments({"project_id": s.PROJECT_ID, "meta": s.META, "append_id": s.APPEND_ID}, "project_id"),
        s.answer({"session_id": s.SESSION_ID, "log_id": s.LOG_ID, **_APPENDED}, "session_id", "seq", "log_id"),
        _create_session,
    ),
    Tool(
        "append_message",
        "Append a message",
        "Append one message to a session. Give it an append_id: a retry with the same id writes nothing twice.",
        s.arguments({"session_id": s.SESSION_ID, "message": s.MESSAGE_IN, "expected_seq": _EXPECTED_SEQ}, "session_id", "message"),
        s.answer(_APPENDED, "seq", "append_id", "duplicate"),
        _append_message,
    ),
    Tool(
        "read_session",
        "Read a session",
        "Read a session's messages after a seq, in order, and wait for the next when there is none yet. 0 reads from the start."
        " A fork shows what it inherits. Long results are cut and say how to get the rest.",
        s.arguments(
            {
                "session_id": s.SESSION_ID,
                "after_seq": s.seq_field("Only messages with a larger seq.", 0, default=0),
                "limit": s.LIMIT,
                "wait_seconds": s.field(
                    "number",
                    f"How long to wait when there is nothing yet; more than {WAIT_S_MAX} is taken as {WAIT_S_MAX}. At its end the"
                    " page is empty.",
                    WAIT_S_DEFAULT,
                    minimum=0,
                    default=WAIT_S_DEFAULT,
                ),
                "offset": s.seq_field("For a message that was cut: go on at this character of its content, or of `field`.", 5000),
                "field": s.field("string", "For a message that was cut: which of its fields `offset` goes on in.", "tool_calls"),
                "max_tokens": s.field(
                    "integer",
                    "About how long the result may be.",
                    TOKENS_DEFAULT,
                    minimum=TOKENS_MIN,
                    maximum=TOKENS_MAX,
                    default=TOKENS_DEFAULT,
                ),
            },
            "session_id",
        ),
        s.answer(
            {
                "session_id": s.SESSION_ID,
                "messages": s.field("array", "The messages, in seq order.", [], items=s.MESSAGE_OUT),
                "next_after_seq": s.field("integer", "Give it as after_seq to go on.", 42),
                "head_seq": s.field("integer", "The seq of the session's last message.", 42),
                "has_more": s.field("boolean", "True: more is there already.", False),
                "log_id": s.LOG_ID,
                "left_out": s.LEFT_OUT,
            },
            "session_id",
            "messages",
            "next_after_seq",
            "head_seq",
            "has_more",
            "log_id",
        ),
        _read_session,
        is_read_only=True,
    ),
    Tool(
        "create_snapshot",
        "Take a snapshot",
        "Name a point in a session, by default its head, so that it can be forked or reviewed later.",
        s.arguments(
            {
                "session_id": s.SESSION_ID,
                "commit_msg": s.field("string", "What the snapshot is for.", "before the refactoring"),
                "up_to_seq": s.seq_field("The last seq that it covers; left out: the head.", 41),
                "append_id": s.APPEND_ID,
            },
            "session_id",
        ),
        s.answer(
            {"snapshot_id": s.SNAPSHOT_ID, "up_to_seq": s.field("integer", "The last seq that it covers.", 41), **_APPENDED},
            "snapshot_id",
            "up_to_seq",
            "seq",
        ),
        _create_snapshot,
    ),
    Tool(
        "list_snapshots",
        "List snapshots",
        "List a session's snapshots, oldest first.",
        s.arguments({"session_id": s.SESSION_ID, "limit": s.LIMIT, "cursor": s.CURSOR}, "session_id"),
        s.answer(
            {
                "snapshots": s.field("array", "The snapshots.", [], items=s.SNAPSHOT_OUT),
                "next": s.NEXT,
                "left_out": s.LEFT_OUT,
            },
            "snapshots",
        ),
        _list_snapshots,
        is_read_only=True,
    ),
    Tool(
        "load_snapshot",
        "Go on from a snapshot",
        "Fork a snapshot: a new session that reads everything up to it and goes on by itself. The original is never changed.",
        s.arguments({"snapshot_id": s.SNAPSHOT_ID, "meta": s.META, "append_id": s.APPEND_ID}, "snapshot_id"),
        s.answer(
            {"session_id": s.SESSION_ID, "parent_snapshot_id": s.SNAPSHOT_ID, **_APPENDED},
            "session_id",
            "parent_snapshot_id",
            "seq",
        ),
        _load_snapshot,
    ),
    Tool(
        "list_sessions",
        "List sessions",
        "List a project's sessions, newest first.",
        s.arguments({"project_id": s.PROJECT_ID, "limit": s.LIMIT, "cursor": s.CURSOR}, "project_id"),
        s.answer(
            {"sessions": s.field("array", "The sessions.", [], items=s.SESSION_OUT), "next": s.NEXT, "left_out": s.LEFT_OUT},
            "sessions",
        ),
        _list_sessions,
        is_read_only=True,
    ),
    Tool(
        "update_session_meta",
        "Update a session's meta",
        "Merge fields into a session's meta (RFC 7396: null removes one).",
        s.arguments({"session_id": s.SESSION_ID, "meta": s.META, "append_id": s.APPEND_ID}, "session_id", "meta"),
        s.answer(
            {"ok": s.field("boolean", "True.", True), "meta": s.META, "cut": s.CUT, **_APPENDED},
            "ok",
            "seq",
            "meta",
        ),
        _update_session_meta,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
