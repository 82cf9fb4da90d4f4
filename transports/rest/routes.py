"""The list of what can be asked over REST; requests are checked against it and `/openapi.json` is made of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from transports.rest import admin, exchange, handlers, sse

Handler = Callable[[Request], Awaitable[Any]]


@dataclass(frozen=True)
class Operation:
    """One method of one path. `query`: each parameter and what it means; `needs`: those that must be there.

    `body` and `answer` name schemas; an answer that is no JSON is a media type. `body` "*" is a file, as it is.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    query: dict[str, str] = field(default_factory=dict)
    body: str = ""
    answer: str = ""
    needs: tuple[str, ...] = ()
    is_open: bool = False

    @property
    def answers_head(self) -> bool:
        """Whether HEAD is answered as GET without a body: not where GET writes, nor where it never ends."""
        return self.method == "GET" and self.answer not in ("Forked", "text/event-stream")


_CURSOR = {
    "after_seq": "Only what has a larger seq; 0 reads from the start.",
    "limit": "How many at most, 1-1000, default 100.",
    "wait": "Seconds to wait for the first when there is none, 0-60, default 0.",
    "log_id": "The history that after_seq belongs to; another one is answered with 409 cursor_ahead.",
}
_LIST = {"limit": _CURSOR["limit"], "cursor": "`next` of the page before."}
_LINES = "application/x-ndjson"
_REPEAT = "append_id: the same one is written once."

OPERATIONS: tuple[Operation, ...] = (
    Operation("POST", "/v1/sessions", handlers.create_session, "Create a session", body="NewSession", answer="SessionCreated"),
    Operation(
        "GET",
        "/v1/sessions",
        handlers.list_sessions,
        "List sessions, newest first",
        {
            "project_id": "Only of this project.",
            "agent": "Only from this agent.",
            "q": "Only with this in the title.",
            "since": "Only where something happened at or after this time (RFC 3339).",
            "before": "Only where nothing happened at or after this time.",
            **_LIST,
        },
        answer="Sessions",
    ),
    Operation(
        "GET",
        "/v1/sessions/{session_id}",
        handlers.read_session,
        "Read a session's messages, or wait for the next",
        {**_CURSOR, "native": "1: with each message's native part."},
        answer="Messages",
    ),
    Operation(
        "PATCH",
        "/v1/sessions/{session_id}",
        handlers.patch_session,
        "Merge a patch into the session's meta",
        {"append_id": _REPEAT},
        "MetaPatch",
        "MetaPatched",
    ),
    Operation(
        "DELETE",
        "/v1/sessions/{session_id}",
        handlers.delete_session,
        "Hide a session; its forks go on",
        {"reason": "Kept with the event."},
        answer="Deleted",
    ),
    Operation(
        "POST",
        "/v1/sessions/{session_id}/messages",
        handlers.append_messages,
        "Append one message, or several all or none",
        {"expected_seq": "The head the writer believes it is adding to; another is answered with 409 seq_conflict."},
        "NewMessages",
        "MessagesWritten",
    ),
    Operation(
        "POST",
        "/v1/sessions/{session_id}/native",
        handlers.record_native,
        "Keep records of an agent that are no messages",
        body="NewNative",
        answer="Written",
    ),
    Operation(
        "GET",
        "/v1/sessions/{session_id}/events",
        sse.follow_events,
        "Follow a session's events (text/event-stream)",
        {"after_seq": _CURSOR["after_seq"], "log_id": _CURSOR["log_id"]},
        answer="text/event-stream",
    ),
    Operation(
        "GET",
        "/v1/sessions/{session_id}/lineage",
        handlers.lineage,
        "A session with its parents, forks, snapshots and sub-agents",
        answer="Lineage",
    ),
    Operation(
        "GET",
        "/v1/sessions/{session_id}/entries",
        handlers.read_entries,
        "Read a session whole: messages with `native`, and native records, over its lineage",
        {"after_seq": _CURSOR["after_seq"], "limit": _CURSOR["limit"], "log_id": _CURSOR["log_id"]},
        answer="Entries",
    ),
    Operation(
        "GET",
        "/v1/sessions/{session_id}/export",
        exchange.export_session,
        "A session as an agent's own files, with the mapping report",
        {
            "to": "The agent to write it for; messages: the standard session file.",
            "version": "The agent's version to write for; the newest known where absent.",
            "cwd": "The working directory on the agent's host; the original one where absent.",
            "model": "provider/model to go on with, for agents that need one.",
        },
        answer="Exported",
        needs=("to",),
    ),
    Operation(
        "POST",
        "/v1/import",
        exchange.import_file,
        "Bring an agent's file in; what is there already is not written again",
        {"project_id": "The project that it goes to.", "agent": "The agent that wrote it; told by its content where absent."},
        "*",
        "Imported",
        ("project_id",),
    ),
    Operation(
        "POST",
        "/v1/snapshots",
        handlers.create_snapshot,
        "Name a point in a session",
        body="NewSnapshot",
        answer="SnapshotCreated",
    ),
    Operation(
        "GET",
        "/v1/snapshots",
        handlers.list_snapshots,
        "List snapshots, oldest first",
        {"session_id": "Only of this one.", **_LIST},
        answer="Snapshots",
    ),
    Operation("GET", "/v1/snapshots/{snapshot_id}", handlers.read_snapshot, "Read a snapshot", answer="Snapshot"),
    Operation(
        "POST",
        "/v1/snapshots/{snapshot_id}/fork",
        handlers.fork,
        "Create a session that goes on from a snapshot",
        body="NewFork",
        answer="Forked",
    ),
    Operation(
        "GET",
        "/v1/snapshots/{snapshot_id}/fork",
        handlers.fork_by_get,
        "The same; deprecated, use POST",
        {"append_id": _REPEAT},
        answer="Forked",
    ),
    Operation(
        "GET",
        "/v1/diff",
        handlers.diff,
        "What two sessions or snapshots share by lineage, and what each has alone",
        {
            "a": "A session or snapshot.",
            "b": "Another one.",
            "limit": "How many messages of each side at most, 1-1000, default 100.",
            "after_a": "`next_after_seq` of side a of the page before.",
            "after_b": "`next_after_seq` of side b of the page before.",
        },
        answer="Diff",
        needs=("a", "b"),
    ),
    Operation(
        "GET", "/v1/log", handlers.read_log, "Read the whole log in order, or wait for the next event", _CURSOR, answer="Log"
    ),
    Operation(
        "GET",
        "/v1/archive/jobs",
        admin.list_archive_jobs,
        "Which snapshots are in the Git archive",
        {"status": "Only pending, running, done or failed.", **_LIST},
        answer="ArchiveJobs",
    ),
    Operation("GET", "/v1/admin/archive", admin.archive_status, "How the Git archive is", answer="Archive"),
    Operation("POST", "/v1/admin/archive/retry", admin.retry_archive, "Try now what failed or waits", answer="Retried"),
    Operation("POST", "/v1/admin/archive/verify", admin.verify_archive, "Compare archive and log (JSON lines)", answer=_LINES),
    Operation(
        "GET",
        "/v1/admin/projections",
        admin.list_projections,
        "The views of the log, and how a rebuild goes on",
        answer="Projections",
    ),
    Operation(
        "POST",
        "/v1/admin/projections/{name}/rebuild",
        admin.rebuild_projection,
        "Rebuild a view while the hub serves (JSON lines)",
        answer=_LINES,
    ),
    Operation(
        "POST",
        "/v1/admin/projections/{name}/verify",
        admin.verify_projection,
        "Compare a view with a fresh fold (JSON lines)",
        answer=_LINES,
    ),
    Operation(
        "POST", "/v1/admin/purge", admin.purge, "Make what was said unreadable for good (JSON lines)", body="Purge", answer=_LINES
    ),
    Operation("GET", "/v1/admin/log/check", handlers.check_log, "Whether the log is dense", answer="LogChecked"),
    Operation(
        "POST",
        "/v1/admin/log/new-epoch",
        handlers.new_epoch,
        "Give the log a new log_id, so that cursors kept elsewhere end",
        answer="NewEpoch",
    ),
    Operation("GET", "/healthz", handlers.healthz, "How the process is", answer="Health", is_open=True),
    Operation("GET", "/readyz", handlers.readyz, "Whether requests will be answered now", answer="Ready", is_open=True),
    Operation(
        "GET",
        "/schema/message.v1.json",
        handlers.schema,
        "The JSON Schema of a standard message",
        answer="application/schema+json",
        is_open=True,
    ),
)

OPEN_PATHS = frozenset(
    {"/", "/login", "/openapi.json", "/register"} | {operation.path for operation in OPERATIONS if operation.is_open}
)
OPEN_PREFIXES = ("/schema/", "/static/", "/.well-known/")
