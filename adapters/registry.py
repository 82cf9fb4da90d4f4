"""The agents we read and write, and which of them a file is from. A new agent adds a line to each table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from adapters.claude_code import detect as claude_code_detect
from adapters.claude_code import reader as claude_code
from adapters.claude_code import validator as claude_code_validator
from adapters.claude_code import writer as claude_code_writer
from adapters.conversion import Conversion
from adapters.hermes import detect as hermes_detect
from adapters.hermes import reader as hermes
from adapters.hermes import validator as hermes_validator
from adapters.hermes import writer as hermes_writer
from adapters.messages import reader as messages_reader
from adapters.messages import validator as messages_validator
from adapters.messages import writer as messages_writer
from adapters.opencode import detect as opencode_detect
from adapters.opencode import reader as opencode
from adapters.opencode import validator as opencode_validator
from adapters.opencode import writer as opencode_writer
from adapters.session import Session
from adapters.target import Target
from adapters.written import Written

CONFIDENCE_MIN = 0.5


class Read(Protocol):
    """Lines of a file in, a session out. Never raises for what the lines hold."""

    def __call__(self, lines: Iterable[bytes], *, is_final: bool = True) -> Conversion: ...


class Write(Protocol):
    """A session in, and those of its sub-agents; the agent's own records out. Raises UnknownVersion."""

    def __call__(self, session: Session, target: Target, subagents: Sequence[Session] = ()) -> Written: ...


@dataclass(frozen=True, slots=True)
class Reader:
    """How to know an agent's files, and how to read them."""

    detect: Callable[[Iterable[bytes]], tuple[float, str]]
    read: Read


@dataclass(frozen=True, slots=True)
class Writer:
    """How to write a session for an agent; `problems` tells of records what the agent itself would refuse or overlook."""

    write: Write
    problems: Callable[[Sequence[Any]], list[str]]


@dataclass(frozen=True, slots=True)
class Detection:
    """What a file seems to be; `version` is the agent's own, "" where the file does not say."""

    agent: str
    version: str
    confidence: float  # 0 to 1


READERS: Mapping[str, Reader] = {
    "claude-code": Reader(claude_code_detect.detect, claude_code.read),
    "hermes": Reader(hermes_detect.detect, hermes.read),
    "messages": Reader(messages_reader.detect, messages_reader.read),
    "opencode": Reader(opencode_detect.detect, opencode.read),
}

WRITERS: Mapping[str, Writer] = {
    "claude-code": Writer(claude_code_writer.write, claude_code_validator.problems),
    "hermes": Writer(hermes_writer.write, hermes_validator.problems),
    "messages": Writer(messages_writer.write, messages_validator.problems),
    "opencode": Writer(opencode_writer.write, opencode_validator.problems),
}


def detect(lines: Sequence[bytes]) -> Detection | None:
    """Return the agent that wrote these lines (a few dozen are enough), or None when no reader is sure."""
    guesses = (Detection(agent, *reader.detect(lines)[::-1]) for agent, reader in READERS.items())
    best = max(guesses, key=lambda guess: guess.confidence, default=None)
    return best if best and best.confidence >= CONFIDENCE_MIN else None
