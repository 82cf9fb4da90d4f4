"""A session on its way out: what every writer gets, from the hub, from a `messages` file or straight from a reader.

Its values are those of `eventstore.wire.codec`: plain Python, numbers may be `codec.Number`, strings may hold lone
surrogates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from adapters.conversion import Conversion, Json, Message, NativeRecords


@dataclass(frozen=True, slots=True)
class Session:
    """A session as the hub gives it out, or as a `messages` file holds it.

    `entries` stand in order: standard messages (with `native` where they have it) and native records
    (`{agent, version, records[, append_id]}`). They may be looked up one by one, from a disk: then `messages` is to be shunned.
    """

    meta: Json
    entries: Sequence[Json]
    # What the first line of a `messages` file says besides: `native`, and fields we do not know. A hub has no place for it.
    header: Json = field(default_factory=dict)

    @property
    def messages(self) -> list[Json]:
        return [entry for entry in self.entries if is_message(entry)]

    @property
    def natives(self) -> list[Json]:
        return [entry for entry in self.entries if not is_message(entry)]


def session_of(conversion: Conversion) -> Session:
    """Return what a reader read as a session to write, with no hub in between."""
    return Session(conversion.meta, tuple(map(as_it_came, conversion.entries)), conversion.header)


def as_it_came(entry: Message | NativeRecords) -> Json:
    """Return the body of what a reader read, less the append_id where the reader had to make one up."""
    if not entry.has_made_id:
        return entry.body
    return {key: value for key, value in entry.body.items() if key != "append_id"}


def is_message(entry: Json) -> bool:
    return "role" in entry


def native_of(message: Json, agent: str) -> Json | None:
    """What a message keeps for the way home to this agent, or None when it is from another."""
    native = message.get("native")
    return native if isinstance(native, dict) and native.get("agent") == agent else None


def metadata_of(message: Json) -> Json:
    metadata = message.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def is_harness(message: Json) -> bool:
    """Is it text that an agent's harness put in, and that another agent's harness will put in in its own way?

    A compaction's summary is written by the harness too, but stands for what was said: it is none.
    """
    metadata = metadata_of(message)
    return metadata.get("origin") == "harness" and not isinstance(metadata.get("compaction"), Mapping)


def is_compaction(message: Json) -> bool:
    """Is it the summary that stands for all that was said before it?"""
    return isinstance(metadata_of(message).get("compaction"), Mapping)


def goes_on(message: Json, before: Json) -> bool:
    """Does a message belong to the same reply as the one right before it? A compaction's summary belongs to none."""
    reply_id = metadata_of(message).get("reply_id")
    is_same = isinstance(reply_id, str) and bool(reply_id) and reply_id == metadata_of(before).get("reply_id")
    return is_same and message["role"] == "assistant" and not is_compaction(message)


def place_of(message: Json, index: int) -> str:
    """How a report names a message: by its seq where it has one, else by its place, from 1."""
    seq = message.get("seq")
    return f"message {index + 1}" if seq is None else f"seq {seq}"
