"""Every error of the hub: a situation, told from the caller's side, with a code that never changes.

Only the skins know HTTP statuses or MCP answers; `transports/rest/errors.py` maps codes to statuses and a test keeps
the table in `docs/protocol.md` complete.
"""

from typing import Any, ClassVar


class StoreError(Exception):
    """Base of all: `detail` says what was found and what to do, `facts` are the fields a program needs to act."""

    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Something went wrong inside the hub"
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str = "", **facts: Any) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.facts = facts


# --- what came in was not right: nothing was written, sending the same again will not help


class InvalidRequest(StoreError):
    """A parameter, header or body field is missing or has a value that is not allowed."""

    code, title = "invalid_request", "The request is not valid"


class InvalidJson(StoreError):
    """The body is no JSON that can be kept: broken syntax or UTF-8, a key twice, nested too deeply, NaN."""

    code, title = "invalid_json", "The body is not JSON that the hub can keep"


class InvalidMessage(StoreError):
    """JSON, but no standard message."""

    code, title = "invalid_message", "The message does not follow the schema"


class UnsupportedSchemaVersion(StoreError):
    """Written by a newer client than this hub knows."""

    code, title = "unsupported_schema_version", "This hub does not know that schema version"


class TooLarge(StoreError):
    """Over a limit; the facts name the limit, its value and the item."""

    code, title = "too_large", "Over a size limit"


class Unauthorized(StoreError):
    """No token, or one that this hub does not know."""

    code, title = "unauthorized", "A valid bearer token is needed"


class HostRefused(StoreError):
    """The Host or Origin header names a site that this hub was not told to serve."""

    code, title = "host_refused", "This Host or Origin is not served here"


class NoSuchRoute(StoreError):
    """Nothing lives at this path."""

    code, title = "no_such_route", "There is nothing at this address"


class MethodNotAllowed(StoreError):
    """The path exists, the method does not."""

    code, title = "method_not_allowed", "This method is not allowed here"


# --- what was named is not there


class SessionNotFound(StoreError):
    """No session has this id."""

    code, title = "session_not_found", "No such session"


class SessionDeleted(StoreError):
    """The session was deleted; its forks go on."""

    code, title = "session_deleted", "The session was deleted"


class SnapshotNotFound(StoreError):
    """No snapshot has this id."""

    code, title = "snapshot_not_found", "No such snapshot"


class ArchiveMissing(StoreError):
    """This host has no archive to look at."""

    code, title = "archive_missing", "There is no archive here"


class EventNotFound(StoreError):
    """The log has no event with this seq."""

    code, title = "event_not_found", "No such event"


class ProjectionNotFound(StoreError):
    """No projection has this name."""

    code, title = "projection_not_found", "No such projection"


# --- what was asked contradicts the log


class AppendIdReused(StoreError):
    """The append_id was used before with another body."""

    code, title = "append_id_reused", "This append_id was used with another body"


class SeqConflict(StoreError):
    """`expected_seq` is not the head; the facts carry `head_seq`."""

    code, title = "seq_conflict", "The session has moved on"


class CursorAhead(StoreError):
    """The cursor belongs to another history or lies beyond the head: after a restore, start again."""

    code, title = "cursor_ahead", "The cursor is not of this log"


class MetaMoved(StoreError):
    """The meta changed between reading and patching it, again and again."""

    code, title, retryable = "meta_contended", "The meta is being changed by many writers", True


class RebuildRunning(StoreError):
    """One rebuild at a time."""

    code, title, retryable = "rebuild_running", "A rebuild is under way", True


# --- not now


class Overloaded(StoreError):
    """More waits to be written than the hub takes; nothing of this request was."""

    code, title, retryable = "too_many_requests", "Too many requests", True


class StoreUnavailable(StoreError):
    """The database does not answer; whether an append without an answer was written is told by repeating it."""

    code, title, retryable = "database_unavailable", "The database is not reachable", True


class LogBusy(StoreError):
    """The append lock was not free in time; nothing was written."""

    code, title, retryable = "log_busy", "The log is busy", True


class ReadOnlyReplica(StoreError):
    """This database is a replica: it is read, the primary is written."""

    code, title = "read_only_replica", "This database takes no writes"


class PooledConnection(StoreError):
    """Long work and the locks of workers need a connection that leads straight to PostgreSQL; nothing was done."""

    code, title = "pooled_connection", "A pooler stands in the way"


class Internal(StoreError):
    """A fault of the hub; the log of the server holds it under the request id."""

    code = "internal"


class RestoreRefused(StoreError):
    """Nothing was restored: the database is not empty, or the archive cannot be read."""

    code, title = "restore_refused", "The restore is refused"


# --- starting


class SchemaNewer(StoreError):
    """The database was migrated by a newer Tasuki."""

    code, title = "schema_newer", "The database belongs to a newer Tasuki"


class SchemaMissing(StoreError):
    """The database was never migrated, or by an older Tasuki."""

    code, title = "schema_missing", "The database needs `tasuki migrate`"


class EmbeddedUnavailable(StoreError):
    """The embedded PostgreSQL does not start."""

    code, title = "embedded_unavailable", "The embedded PostgreSQL does not start"


class InvalidSettings(StoreError):
    """A setting has a value that is not allowed."""

    code, title = "invalid_settings", "A setting is not valid"


def without_text(error: Exception) -> Exception:
    """Return the error for the log: its kind and place; its text could hold what a client sent. Of a group its first member."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return Exception(type(error).__name__).with_traceback(error.__traceback__)
