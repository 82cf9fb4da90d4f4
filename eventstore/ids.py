"""Ids made by the server."""

import secrets
import time
import uuid


def new_session_id() -> str:
    """Return `ses_<uuid>`; ids made later sort later."""
    return f"ses_{uuid7()}"


def new_append_id() -> str:
    """Return an append id for a writer that gave none."""
    return str(uuid7())


def uuid7() -> uuid.UUID:
    """Return a version 7 uuid (RFC 9562): 48 bits of Unix milliseconds, then random."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=number & ~(0x3 << 62) | 0x2 << 62)
