"""What a reader gives back: the entries to append, the session's meta, the report, and what is needed to follow growth.

Every `body` is a JSON value for `eventstore.wire.codec.dump`: plain Python, but numbers may be `codec.Number`, which
keeps their spelling, and strings may hold lone surrogates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One standard message, ready to be appended; `body` has its `append_id`."""

    body: Json
    native_id: str  # the agent's own id of the record it came from; several messages may share one
    parent_id: str | None  # the `native_id` it answers, as far as the records before it tell
    line: int  # where the record stands, from 1
    part: int = 0  # 0 for the first message of a record, 1 for the next …
    has_made_id: bool = False  # was the append_id made up by the reader, since the record has a place for one and none in it?

    @property
    def append_id(self) -> str:
        return str(self.body["append_id"])


@dataclass(frozen=True, slots=True)
class NativeRecords:
    """One `native.recorded`, ready to be sent: `body` is `{agent, version, records, append_id}`."""

    body: Json
    lines: tuple[int, ...]  # where its records stand, from 1
    has_made_id: bool = False  # as in a message

    @property
    def append_id(self) -> str:
        return str(self.body["append_id"])


@dataclass(frozen=True, slots=True)
class Conversion:
    """A session as the hub takes it. `entries` stand in the order in which they shall be appended."""

    agent: str
    version: str
    meta: Json
    entries: tuple[Message | NativeRecords, ...]
    report: Json
    # The agent's ids of messages that are not live, each with the reason: what a follower needs to see a rewind.
    off_branch: Mapping[str, str] = field(default_factory=dict)
    # The agent's ids of sub-agents, each with the tool call that started it.
    subagents: Mapping[str, str] = field(default_factory=dict)
    # Records left out because more of their block, or of their line, is still to come (only in a running session).
    held_records: int = 0
    # What the first line of a `messages` file says beside the meta.
    header: Json = field(default_factory=dict)

    @property
    def messages(self) -> list[Message]:
        return [entry for entry in self.entries if isinstance(entry, Message)]

    @property
    def natives(self) -> list[NativeRecords]:
        return [entry for entry in self.entries if isinstance(entry, NativeRecords)]
