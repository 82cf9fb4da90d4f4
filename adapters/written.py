"""What a writer gives back: the agent's own records, where they belong, and the mapping report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adapters.conversion import Json
from eventstore.wire.codec import dump


@dataclass(frozen=True, slots=True)
class Written:
    """A session in an agent's own format.

    `records` are, for Claude Code, Codex, Gemini CLI and `messages`, lines as bytes with their line ends, so that a file is their
    join; for OpenCode one export document; for Hermes one export object.
    """

    agent: str
    version: str
    session_id: str  # the agent's id of it: what its own resume command is given
    records: tuple[Any, ...]
    report: Json  # direction `from_standard`
    path: str = ""  # where in the agent's store it belongs, relative, with `/`; "" where the agent keeps no files
    sidecar: Json | None = None  # what the agent keeps beside the file, as a JSON value
    beside: tuple[tuple[str, bytes], ...] = ()  # other files that the agent keeps beside it: where, as `path`, and their bytes
    subagents: tuple["Written", ...] = ()  # sessions that this one started


def file_of_lines(records: Sequence[Any]) -> tuple[bytes, list[str]]:
    """Return the file of records that are lines, or documents of a line each; it holds them all."""
    return b"".join(record if isinstance(record, bytes) else dump(record).encode() + b"\n" for record in records), []
