"""Errors over HTTP: one table from code to status, one shape (RFC 9457, application/problem+json)."""

from typing import Any

from starlette.responses import Response

from eventstore.errors import StoreError
from eventstore.wire.codec import dump

RETRY_AFTER_S = 1

STATUS_OF_CODE: dict[str, int] = {
    "invalid_request": 400,
    "invalid_json": 400,
    "unauthorized": 401,
    "host_refused": 403,
    "no_such_route": 404,
    "session_not_found": 404,
    "snapshot_not_found": 404,
    "archive_missing": 404,
    "event_not_found": 404,
    "projection_not_found": 404,
    "method_not_allowed": 405,
    "append_id_reused": 409,
    "seq_conflict": 409,
    "cursor_ahead": 409,
    "rebuild_running": 409,
    "session_deleted": 410,
    "too_large": 413,
    "invalid_message": 422,
    "not_converted": 422,
    "unknown_agent": 422,
    "unknown_version": 422,
    "unsupported_format": 422,
    "unsupported_schema_version": 422,
    "too_many_requests": 429,
    "internal": 500,
    "meta_contended": 503,
    "database_unavailable": 503,
    "log_busy": 503,
    "pooled_connection": 503,
    "read_only_replica": 503,
    "schema_missing": 503,
    "schema_newer": 503,
}


def problem(error: StoreError, request_id: str) -> Response:
    """Return the answer for an error. Facts of the error become members beside the standard ones."""
    status = STATUS_OF_CODE.get(error.code, 500)
    body: dict[str, Any] = {
        "type": f"urn:tasuki:error:{error.code}",
        "title": error.title,
        "status": status,
        "code": error.code,
        "detail": error.detail,
        "retryable": error.retryable,
        "request_id": request_id,
    }
    body |= {name: fact for name, fact in error.facts.items() if name not in body}
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        headers["Retry-After"] = str(RETRY_AFTER_S)
    if "allow" in error.facts:
        headers["Allow"] = error.facts["allow"]
    return Response(dump(body).encode(), status, headers, "application/problem+json")
