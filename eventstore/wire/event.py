"""Events: their kinds, the names of what they make, and how one is served."""

import re

from eventstore.wire.message import served_message

_SNAPSHOT_ID = re.compile(r"snap_([1-9][0-9]{0,17})")
_line_break = re.compile(rb"\r\n|\r|\n")


def snapshot_id(seq: int) -> str:
    """Return the id of the snapshot that the event with this seq made."""
    return f"snap_{seq}"


def snapshot_seq(snapshot_id: str) -> int | None:
    """Return the number in `snap_<n>`, None where it is no snapshot id."""
    match = _SNAPSHOT_ID.fullmatch(snapshot_id)
    return int(match[1]) if match else None


def served_payload(kind: str, session_id: str, seq: int, stored: bytes) -> bytes:
    """Return an event's payload as it is read: a message with the server's fields, others as they were stored."""
    return served_message(session_id, seq, stored) if kind == "message.appended" else stored


def sse_event(kind: str, seq: int, payload: bytes) -> bytes:
    """Return one server-sent event (WHATWG HTML, 9.2.6). Line breaks in JSON are white space: a data line for each piece."""
    if b"\n" in payload or b"\r" in payload:
        payload = b"\ndata: ".join(_line_break.split(payload))
    return b"event: %b\nid: %d\ndata: %b\n\n" % (kind.encode(), seq, payload)
