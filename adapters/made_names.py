"""What new ids are made of: always the same for the same session, so that writing it again adds nothing."""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from adapters.conversion import Json
from adapters.pairing import digest
from adapters.values import text_of
from eventstore.wire import codec

_uuid = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch


def is_uuid(name: str) -> bool:
    return _uuid(name) is not None


def uuid_of(name: str) -> str:
    """Return a uuid, always the same for the same name."""
    return str(UUID(bytes=sha256(f"tasuki:{name}".encode("utf-8", "surrogatepass")).digest()[:16], version=5))


def record_names(messages: Sequence[Json]) -> list[str]:
    """Return what the ids of records are made of: the append_id, or what stands for it; each once."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for index, message in enumerate(messages):
        name = text_of(message, "append_id") or f"{index}:{digest(said_by(message))}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return names


def session_name(meta: Json, native_id: str, messages: Sequence[Json]) -> str:
    """Return what a session's id is made of: that of its agent, or of the hub, or its first message; "" where there is nothing."""
    if native_id:
        return f"{text_of(meta, 'agent_source')}:{native_id}"
    first = messages[0] if messages else {}
    return text_of(first, "session_id") or text_of(first, "append_id")


def said_by(message: Json) -> str:
    """Return all that a message says, as one text."""
    return codec.dump({key: message[key] for key in message if key != "native"})
