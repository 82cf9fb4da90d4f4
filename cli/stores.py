"""Stores: where agents keep their sessions on this host, and how a session is found and read.

What a file is, is told by its lines; a name only helps where the agent itself goes by it. Claude Code, Codex CLI and Gemini
CLI keep a file a session, and other files beside it (`stores_claude_code`, `stores_codex`, `stores_gemini`); DeepSeek
Harness a log a session, compressed as a rule (`stores_dsh`); OpenCode and Hermes keep databases (`stores_database`). An
agent more that keeps files is a line in `FILES`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from adapters.arrival import native_id_of, starter_of
from adapters.claude_code import reader as claude_code
from adapters.claude_code.side_files import with_files
from adapters.codex.records import AGENT as CODEX
from adapters.conversion import Conversion
from adapters.gemini.records import AGENT as GEMINI
from adapters.made_names import is_uuid
from adapters.registry import LINES_LOOKED_AT, READERS, identify
from cli import stores_claude_code, stores_codex, stores_database, stores_dsh, stores_gemini
from cli.containers_dsh import AGENT as DSH
from cli.containers_dsh import is_compressed, read_lines, tears
from cli.source import NoSuchFile, NoSuchNativeSession, Source
from cli.stores_claude_code import CLAUDE_CODE, claude_home, link_of
from cli.stores_database import CONTAINERS
from eventstore.errors import StoreError

__all__ = ["AGENTS", "CLAUDE_CODE", "Loaded", "NoSuchFile", "NoSuchNativeSession", "Source", "claude_home", "link_of"]

AGENTS = tuple(READERS)


class FileStore(Protocol):
    """A module that finds an agent's files on this host."""

    def find(self, session_id: str, /) -> tuple[Source | None, list[str]]: ...
    def all_in_stores(self) -> Iterator[Source | StoreError]: ...
    def children_of(self, source: Source, native_id: str, /) -> list[Source]: ...


FILES: Mapping[str, FileStore] = {CLAUDE_CODE: stores_claude_code, CODEX: stores_codex, DSH: stores_dsh, GEMINI: stores_gemini}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session as it was read. `native_id` names it within its agent, `parent_id` the session that started it, "" for none."""

    source: Source
    native_id: str
    parent_id: str
    conversion: Conversion


def source_of(name: str, agent: str | None, session_id: str = "") -> Source:
    """Return what a name means: a file, a database and which session of it, or the id that an agent gave a session of its own.

    Raises NoSuchFile, NoSuchNativeSession, UnsupportedFormat, UnreadableContainer.
    """
    path = Path(name).expanduser()
    if stores_database.is_container(path):
        return stores_database.in_container(path, agent, session_id)
    if path.is_file():
        return of_file(path, agent)
    if path.is_dir():
        raise NoSuchFile(f"{name} is a folder; name a session's file, or give --all for every session of this host.")
    if path.suffix or len(path.parts) > 1:
        raise NoSuchFile(f"There is no file {name}.")
    return _by_id(name, agent)


def of_file(path: Path, agent: str | None = None) -> Source:
    """Return what a file is, told by its first lines. Raises NoSuchFile, UnsupportedFormat."""
    lines = lines_of(path, LINES_LOOKED_AT)
    known = identify(lines, agent, str(path))
    is_subagent = known == CLAUDE_CODE and path.name.startswith("agent-") and stores_claude_code.is_side_chain(lines)
    return Source(known, path, is_subagent or (known == GEMINI and stores_gemini.is_child(path, lines)))


def lines_of(path: Path, count_max: int | None = None) -> list[bytes]:
    """Return a file's lines, the first `count_max` of them; of a compressed log, those that are packed in it.

    Raises NoSuchFile, UnreadableContainer.
    """
    if is_compressed(path):
        return read_lines(path)[:count_max]
    try:
        with path.open("rb") as file:
            return list(islice(file, count_max))
    except OSError as error:
        raise NoSuchFile(f"{path} cannot be read: {error.strerror or 'no reason given'}.") from None


def all_sources(agent: str | None = None) -> Iterator[Source | StoreError]:
    """Yield every session of this host, sub-agents aside, agent by agent, oldest first; where one cannot be read, why."""
    for name, store in FILES.items():
        if agent in (None, name):
            yield from store.all_in_stores()
    for name in CONTAINERS:
        if agent in (None, name):
            yield from stores_database.all_in_stores(name)


def subagents_of(source: Source, native_id: str) -> list[Source]:
    """Return the sessions of a session's sub-agents. Raises UnreadableContainer."""
    if source.session_id:
        return stores_database.children_of(source)
    return FILES[source.agent].children_of(source, native_id) if source.agent in FILES else []


def load(source: Source, call_ids: Mapping[str, str] | None = None, *, is_final: bool = True) -> Loaded:
    """Read a session. `call_ids`: which call of the parent started which sub-agent; `is_final=False`: it may run still.

    Raises NoSuchFile, UnreadableContainer.
    """
    if source.session_id:
        conversion = stores_database.read_session(source.path, source.agent, source.session_id, is_final=is_final)
        return Loaded(source, source.session_id, starter_of(conversion), conversion)
    loaded = loaded_of(source, lines_of(source.path), call_ids, is_final=is_final)
    return replace(loaded, conversion=stores_database.with_problems(loaded.conversion, tears(source.path)))


def loaded_of(source: Source, lines: list[bytes], call_ids: Mapping[str, str] | None = None, *, is_final: bool = True) -> Loaded:
    """Return a file's session, given its lines."""
    if source.is_subagent and source.agent == CLAUDE_CODE:
        conversion = claude_code.Reading(lines, link_of(source, call_ids), is_final=is_final).whole()
    elif source.is_subagent and source.agent == GEMINI:
        conversion = stores_gemini.read_child(source, lines, call_ids or {}, is_final=is_final)
    elif source.is_subagent and source.agent == CODEX:
        conversion = stores_codex.read_child(lines, call_ids or {}, is_final=is_final)
    else:
        conversion = READERS[source.agent].read(lines, is_final=is_final)
    if is_final and source.agent == CLAUDE_CODE:
        conversion = with_files(conversion, stores_claude_code.side_files(source))
    return as_loaded(source, conversion, lines)


def as_loaded(source: Source, conversion: Conversion, lines: list[bytes]) -> Loaded:
    """Return a file's session, converted from these lines."""
    return Loaded(source, _native_id(source, conversion, lines), starter_of(conversion), conversion)


def _native_id(source: Source, conversion: Conversion, lines: list[bytes]) -> str:
    """The agent's own name of a session: for Claude Code's sessions that of the file, as its resume goes by it."""
    is_subagent = isinstance(conversion.meta.get("subagent"), dict)
    if source.agent == CLAUDE_CODE and not is_subagent and is_uuid(source.path.stem):
        return source.path.stem
    return native_id_of(conversion, lines[0] if lines else b"")


def _by_id(name: str, agent: str | None) -> Source:
    looked: list[str] = []
    for known in (*FILES, *CONTAINERS):
        if agent not in (None, known):
            continue
        source, where = FILES[known].find(name) if known in FILES else stores_database.find(known, name)
        if source:
            return source
        looked += (f"{known}: {told}" for told in where or ["there is no store of it"])
    raise NoSuchNativeSession(f"There is neither a file nor a session {name[:80]!a}. {'; '.join(looked)}.")
