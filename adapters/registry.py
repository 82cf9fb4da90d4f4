"""The agents we read and write, and which of them a file is from. A new agent adds a line to each table."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from adapters.claude_code import detect as claude_code_detect
from adapters.claude_code import reader as claude_code
from adapters.claude_code import validator as claude_code_validator
from adapters.claude_code import writer as claude_code_writer
from adapters.codex import detect as codex_detect
from adapters.codex import reader as codex
from adapters.codex import validator as codex_validator
from adapters.codex import writer as codex_writer
from adapters.conversion import Conversion
from adapters.dsh import detect as dsh_detect
from adapters.dsh import reader as dsh
from adapters.dsh import validator as dsh_validator
from adapters.dsh import writer as dsh_writer
from adapters.gemini import detect as gemini_detect
from adapters.gemini import reader as gemini
from adapters.gemini import validator as gemini_validator
from adapters.gemini import writer as gemini_writer
from adapters.hermes import detect as hermes_detect
from adapters.hermes import export as hermes_export
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
from adapters.session import Session, is_message, native_of
from adapters.target import Target
from adapters.written import Written, file_of_lines
from eventstore.errors import StoreError

CONFIDENCE_MIN = 0.5
LINES_LOOKED_AT = 64


class UnsupportedFormat(StoreError):
    """The file is not one that a reader knows."""

    code, title = "unsupported_format", "The file is no session that can be read"


class NotConverted(StoreError):
    """What was written is not what the target agent takes."""

    code, title = "not_converted", "The session could not be converted"


class UnknownAgent(StoreError):
    """No adapter is made for an agent of this name."""

    code, title = "unknown_agent", "No agent of this name is known"


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
    """How to write a session for an agent; `problems` tells of records what the agent itself would refuse or overlook.

    `file` makes of records the file that the agent reads, and says what of them it cannot hold; `suffix` ends its name.
    """

    write: Write
    problems: Callable[[Sequence[Any]], list[str]]
    file: Callable[[Sequence[Any]], tuple[bytes, list[str]]] = file_of_lines
    suffix: str = "jsonl"


@dataclass(frozen=True, slots=True)
class Detection:
    """What a file seems to be; `version` is the agent's own, "" where the file does not say."""

    agent: str
    version: str
    confidence: float  # 0 to 1


READERS: Mapping[str, Reader] = {
    "claude-code": Reader(claude_code_detect.detect, claude_code.read),
    "codex": Reader(codex_detect.detect, codex.read),
    "dsh": Reader(dsh_detect.detect, dsh.read),
    "gemini": Reader(gemini_detect.detect, gemini.read),
    "hermes": Reader(hermes_detect.detect, hermes.read),
    "messages": Reader(messages_reader.detect, messages_reader.read),
    "opencode": Reader(opencode_detect.detect, opencode.read),
}

WRITERS: Mapping[str, Writer] = {
    "claude-code": Writer(claude_code_writer.write, claude_code_validator.problems),
    "codex": Writer(codex_writer.write, codex_validator.problems),
    "dsh": Writer(dsh_writer.write, dsh_validator.problems),
    "gemini": Writer(gemini_writer.write, gemini_validator.problems),
    "hermes": Writer(hermes_writer.write, hermes_validator.problems, hermes_export.export_file),
    "messages": Writer(messages_writer.write, messages_validator.problems),
    "opencode": Writer(opencode_writer.write, opencode_validator.problems, suffix="json"),
}


def detect(lines: Sequence[bytes]) -> Detection | None:
    """Return the agent that wrote these lines (a few dozen are enough), or None when no reader is sure."""
    guesses = (Detection(agent, *reader.detect(lines)[::-1]) for agent, reader in READERS.items())
    best = max(guesses, key=lambda guess: guess.confidence, default=None)
    return best if best and best.confidence >= CONFIDENCE_MIN else None


def identify(lines: Sequence[bytes], agent: str | None, name: str) -> str:
    """Return the agent that wrote a file, given its first lines. `agent`: who shall have written it, None where nobody says;
    `name`: what the file is called. Raises UnsupportedFormat, UnknownAgent.
    """
    if agent is not None and agent not in READERS:
        raise UnknownAgent(f"There is no agent {agent[:80]!a} whose sessions can be read; there are: {', '.join(READERS)}.")
    found = detect(lines)
    if found is None and agent is None:
        raise UnsupportedFormat(f"{name} is no session that can be read. Agents whose sessions can be: {', '.join(READERS)}.")
    if found and agent and found.agent != agent:
        raise UnsupportedFormat(f"{name} was written by {found.agent}, not by {agent}.")
    return agent or (found.agent if found else "")


def write(agent: str, session: Session, target: Target, subagents: Sequence[Session] = ()) -> Written:
    """Return a session in an agent's own format, checked, but for what the agent itself wrote.

    Raises UnknownAgent, UnknownVersion, NotConverted.
    """
    check_target(agent)
    written = WRITERS[agent].write(session, target, subagents)
    check(agent, written.records, session, target)
    return written


def check(agent: str, records: Iterable[Any], session: Session, target: Target) -> None:
    """Raise NotConverted for what the agent would refuse of the records that a session was written as; see `write`."""
    if session.messages and all(native_of(message, agent) for message in session.messages):
        return  # all of it is the agent's own
    problems = WRITERS[agent].problems(list(records))
    if problems:
        _refuse(agent, problems, _of_home(agent, session, target))


def check_target(agent: str) -> None:
    """Raise UnknownAgent unless there is a writer for this agent."""
    if agent not in WRITERS:
        raise UnknownAgent(f"There is no agent {agent[:80]!a} that can be written for; there are: {', '.join(WRITERS)}.")


def _of_home(agent: str, session: Session, target: Target) -> list[str]:
    """What is odd about the agent's own records alone: they go back untouched, with the oddities that it wrote itself."""
    own = [entry for entry in session.entries if not is_message(entry) or native_of(entry, agent)]
    if not own:
        return []  # a session without anything in it has a problem of its own
    return WRITERS[agent].problems(WRITERS[agent].write(replace(session, entries=tuple(own)), target).records)


def _refuse(agent: str, problems: list[str], before: list[str]) -> None:
    """Raise NotConverted for problems that were not there before; where each stood, which may have moved, does not count."""
    known = Counter(map(_what, before))
    new = []
    for problem in problems:
        if known[_what(problem)]:
            known[_what(problem)] -= 1
        else:
            new.append(problem)
    if new:
        more = f", and {len(new) - 1} more" if len(new) > 1 else ""
        raise NotConverted(f"{agent} would not take what was written: {new[0]}{more}.")


def _what(problem: str) -> str:
    """A problem without its place."""
    place, _, what = problem.partition(": ")
    return what or place
