"""Events and their ids: what is appended, and how what was read is named."""

import re
import secrets
import time
import uuid

SESSION_ID = re.compile(r"ses_[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SNAPSHOT_ID = re.compile(r"snap_([1-9][0-9]{0,17})")


def new_session_id() -> str:
    """Return `ses_<uuid>` with a version 7 uuid (RFC 9562): ids made later sort later."""
    return f"ses_{uuid7()}"


def uuid7() -> uuid.UUID:
    """Return a version 7 uuid: 48 bits of Unix milliseconds, then random."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=number & ~(0x3 << 62) | 0x2 << 62)


def snapshot_id(seq: int) -> str:
    """Return the id of the snapshot that the event with this seq made."""
    return f"snap_{seq}"


def snapshot_seq(snapshot_id: str) -> int | None:
    """Return the number in `snap_<n>`, None where it is no snapshot id."""
    match = _SNAPSHOT_ID.fullmatch(snapshot_id)
    return int(match[1]) if match else None
