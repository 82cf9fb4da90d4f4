"""How a session that was read comes into a hub: under which name, with which meta, in which requests.

The same for whoever brings it (push, an import), so that bringing it again, by whatever way, adds nothing.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from adapters.conversion import Conversion, Json, Message
from eventstore.errors import AppendIdReused
from eventstore.wire.codec import canonical, dump, parse
from eventstore.wire.message import APPEND_ID_CHARS_MAX

BATCH_COUNT, BATCH_BYTES = 500, 4 * 1024 * 1024


def native_id_of(conversion: Conversion, first_line: bytes) -> str:
    """Return the agent's own id of a session; where it says none, one made of how its file begins, which stays as it grows."""
    told = conversion.meta.get("native_session_id")
    if isinstance(told, str) and told:
        return told
    begin = first_line + next((message.append_id for message in conversion.messages), "").encode("utf-8", "surrogatepass")
    return f"file-{sha256(begin).hexdigest()[:32]}"


def starter_of(conversion: Conversion) -> str:
    """Return the agent's own id of the session that started this one, "" where it is no sub-agent's."""
    link = conversion.meta.get("subagent")
    return str(link.get("parent_session_id", "")) if isinstance(link, dict) else ""


def creation(agent: str, native_id: str, starter: str, project_id: str) -> Json:
    """Return the body that creates a session: the same whenever the session is brought, whatever it says of itself by then."""
    name = f"{starter}:{native_id}" if starter else native_id
    return {
        "project_id": project_id,
        "meta": {"agent_source": agent, "native_session_id": native_id},
        "append_id": _fitting(f"{agent}:session:{name}"),
    }


def meta_of(conversion: Conversion, native_id: str) -> Json:
    """Return what the agent says of the session, as a patch of its meta in the hub."""
    return conversion.meta | {"native_session_id": native_id}


def batches(
    messages: Sequence[Message], count_max: int = BATCH_COUNT, bytes_max: int = BATCH_BYTES
) -> Iterator[list[tuple[Message, str]]]:
    """Cut messages into requests of at most `count_max` and about `bytes_max`; a larger message goes alone."""
    batch: list[tuple[Message, str]] = []
    size = 0
    for message in messages:
        text = dump(message.body)
        text_bytes = len(text) if text.isascii() else len(text.encode())
        if batch and (len(batch) >= count_max or size + text_bytes > bytes_max):
            yield batch
            batch, size = [], 0
        batch.append((message, text))
        size += text_bytes
    if batch:
        yield batch


def messages_body(texts: Sequence[str]) -> str:
    """Return the body that appends these messages, all or none."""
    return f'{{"messages":[{",".join(texts)}]}}'


def digest_of(value: Any) -> str:
    """Return 32 digits that are the same for an equal JSON value."""
    return sha256(canonical(parse(dump(value))).encode()).hexdigest()[:32]


def changed(line: int, error: AppendIdReused) -> AppendIdReused:
    """Return what to say where a line that the hub has says something else now."""
    return AppendIdReused(
        f"Line {line} is in the hub already, but says something else there: the file was changed after it was brought in, or"
        " another version of Tasuki brought it. What the hub has stays as it is; use another project to have both.",
        **error.facts,
    )


def _fitting(append_id: str) -> str:
    """The id, or what stands for it where the hub would not take it."""
    if len(append_id) <= APPEND_ID_CHARS_MAX and append_id.isprintable():
        return append_id
    return f"{append_id.partition(':')[0][:40]}:session:{sha256(append_id.encode('utf-8', 'surrogatepass')).hexdigest()}"
