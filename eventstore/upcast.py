"""Upcast: a stored message of an older schema version as today's, when it is read. The log is never rewritten. Pure.

When SCHEMA_VERSION rises, the lifter from the version before is added here; an old message goes through all that follow.
"""

from collections.abc import Callable, Mapping
from typing import Any

from eventstore.wire.codec import dump, parse
from eventstore.wire.message import SCHEMA_VERSION

Lifter = Callable[[dict[str, Any]], dict[str, Any]]
LIFTERS: Mapping[int, Lifter] = {}  # version -> what makes of its message one of the next version


def lifted(stored: bytes, version: int, lifters: Mapping[int, Lifter] | None = None) -> bytes:
    """Return a stored message of `version` as one of SCHEMA_VERSION. KeyError: nobody knows that version."""
    message = parse(stored.decode())
    for step in range(version, SCHEMA_VERSION):
        message = (LIFTERS if lifters is None else lifters)[step](message)
    return dump(message).encode()
