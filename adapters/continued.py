"""A session that was written for an agent and went on there: which of its messages are the hub's, and where it left them.

A writer's records have ids made of what they were written from. So what a writer writes of a session today, read back, names what
an agent that went on with it has of it; no mark in the records is needed, and a redacted or renumbered record is known again.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adapters.conversion import Conversion, Json, Message
from adapters.registry import READERS, WRITERS
from adapters.session import Session, metadata_of
from adapters.target import Target
from eventstore.wire.codec import Number, dump

COMPACTED = "compacted"
_LASTING = frozenset({"claude-code"})  # whose records stay what they were written as, under the ids that they have
_made_uuid = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_opencode_id = re.compile(r"msg_[0-9a-f]{12}([0-9A-Za-z]{14})")

# How records that a writer made look, where they can be told from the agent's own at a glance; elsewhere any session may hold some.
_LOOKS_WRITTEN: Mapping[str, Callable[[Conversion], bool]] = {
    "claude-code": lambda one: any(_made_uuid.fullmatch(message.native_id) for message in one.messages[:64]),
    "dsh": lambda one: any(_made_uuid.fullmatch(message.native_id) for message in one.messages[:64]),
    "gemini": lambda one: any(_made_uuid.fullmatch(message.native_id) for message in one.messages[:64]),
    "hermes": lambda one: one.meta.get("source") in ("import", "subagent"),
    "opencode": lambda one: any(message.native_id.startswith("msg_0000") for message in one.messages[:64]),
    "messages": lambda one: False,
}


@dataclass(frozen=True, slots=True)
class Continued:
    """What of a conversion is new to a session of the hub.

    `new` are the messages that the session has not; `kept` how many of the session's messages stand before the first that the agent
    has not, or took back: all of them, where it has all.
    """

    new: tuple[Message, ...]
    kept: int


def looks_written(conversion: Conversion, native_id: str) -> bool:
    """May a session hold records that a writer of ours made, or have an id that one made?"""
    if conversion.agent not in WRITERS:
        return False
    return is_made(native_id) or _LOOKS_WRITTEN.get(conversion.agent, _may_be)(conversion)


def is_made(native_id: str) -> bool:
    """Is it an id as our writers make them, where what names a session is none that the agent takes?"""
    return _made_uuid.fullmatch(native_id) is not None


def goes_home_as(agent: str, meta: Json, messages: Sequence[Json]) -> str:
    """Return the id that the agent's writer gives a session where nobody asks for another."""
    return WRITERS[agent].write(Session(meta, tuple(messages)), Target()).session_id


def record_names(agent: str, native_id: str, meta: Json, messages: Sequence[Json]) -> list[str]:
    """Return the names of the records that the agent's writer makes of messages today, in order."""
    return [name_of(agent, message.native_id) for message in _records(agent, native_id, meta, messages)]


def _records(agent: str, native_id: str, meta: Json, messages: Sequence[Json]) -> list[Message]:
    written = WRITERS[agent].write(Session(meta, tuple(messages)), Target(session_id=native_id))
    lines = [record if isinstance(record, bytes) else dump(record).encode() + b"\n" for record in written.records]
    return READERS[agent].read(lines).messages


def name_of(agent: str, native_id: str) -> str:
    """Return what names a record wherever in a session it stands."""
    found = _opencode_id.fullmatch(native_id) if agent == "opencode" else None
    return found[1] if found else native_id


def names_in(conversion: Conversion) -> set[str]:
    """Return the names of the records that an agent has, those that it compacted among them."""
    agent = conversion.agent
    compacted = {name_of(agent, key) for key, reason in conversion.off_branch.items() if reason == COMPACTED}
    return {name_of(agent, message.native_id) for message in conversion.messages} | compacted


def continued(conversion: Conversion, native_id: str, meta: Json, messages: Sequence[Json]) -> Continued:
    """Return what an agent that went on with a session has of it, and what is new. `messages`: the hub's, in order."""
    agent = conversion.agent

    def names(count: int) -> list[str]:
        return record_names(agent, native_id, meta, messages[:count])

    records = _records(agent, native_id, meta, messages)
    written = [name_of(agent, record.native_id) for record in records if record.body["role"] != "system"]  # made up, if at all
    known, has = {name_of(agent, record.native_id) for record in records}, names_in(conversion)
    there = {message.get("append_id") for message in messages}  # also what our writer leaves out: what the agent's own harness said
    new = tuple(one for one in conversion.messages if one.append_id not in there and name_of(agent, one.native_id) not in known)
    missing = next((name for name in written if name not in has), None)
    if missing is None:
        return Continued(new, len(messages))
    low, high = 0, len(messages)  # the record is not written of `low` messages, and is of `high`
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if missing in names(middle) else (middle, high)
    return Continued(new, _reply_start(messages, high - 1))


def known_to(conversion: Conversion, messages: Sequence[Json]) -> frozenset[str]:
    """Return the append ids of messages that the hub has under another: their lines came home redacted, or with another folder."""
    if conversion.agent not in _LASTING:
        return frozenset()
    has = {(metadata_of(message).get("native_id"), _part(message)) for message in messages}
    live = {message.get("append_id") for message in messages}
    return frozenset(one.append_id for one in conversion.messages if one.append_id not in live and (one.native_id, one.part) in has)


def rewound(conversion: Conversion, messages: Sequence[Json]) -> int | None:
    """Return the place of the first of the hub's messages that the agent, whose own session it is, took back; None for none.

    Those that a compaction stands for were not taken back; nor were those that others added.
    """
    agent, live = conversion.agent, {message.append_id for message in conversion.messages}
    spoken = {message.native_id for message in conversion.messages}
    for place, message in enumerate(messages):
        append_id, native_id = str(message.get("append_id")), str(metadata_of(message).get("native_id"))
        is_own = append_id.startswith(f"{agent}:")
        if is_own and append_id not in live and native_id not in spoken and conversion.off_branch.get(native_id) != COMPACTED:
            return place
    return None


def _part(message: Json) -> int:
    native = message.get("native")
    part = native.get("part") if isinstance(native, dict) else None
    return (part.as_int() or 0) if isinstance(part, Number) else 0


def _may_be(conversion: Conversion) -> bool:
    return True


def _reply_start(messages: Sequence[Json], place: int) -> int:
    """The first message of the reply that one belongs to: some agents keep a reply in one record."""
    reply_id = metadata_of(messages[place]).get("reply_id")
    while place and reply_id and metadata_of(messages[place - 1]).get("reply_id") == reply_id:
        place -= 1
    return place
