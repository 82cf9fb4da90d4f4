"""Stores: where agents keep their sessions on this host, and how a session's files are found and read.

What a file is, is told by its lines; a name only helps where the agent itself goes by it. Claude Code keeps a session in
`<home>/projects/<folder>/<session id>.jsonl` and its sub-agents in `<session id>/subagents/**/agent-<id>.jsonl`, older
versions beside it, each with a sidecar `agent-<id>.meta.json`.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from adapters.arrival import native_id_of, starter_of
from adapters.claude_code import reader as claude_code
from adapters.conversion import Conversion
from adapters.registry import LINES_LOOKED_AT, READERS, identify
from eventstore.errors import StoreError

AGENTS = tuple(READERS)
CLAUDE_CODE = "claude-code"
_uuid = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NoSuchFile(StoreError):
    """What was named is neither a file nor an id."""

    code, title = "no_such_file", "There is no such file"


class NoSuchNativeSession(StoreError):
    """No agent's store holds this session."""

    code, title = "no_such_native_session", "No agent on this host has this session"


@dataclass(frozen=True, slots=True)
class Source:
    """A file that holds a session. `call_ids`: which call of the parent started which sub-agent, as far as the parent says."""

    agent: str
    path: Path
    is_subagent: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """A session as it was read. `native_id` names it within its agent, `parent_id` the session that started it, "" for none."""

    source: Source
    native_id: str
    parent_id: str
    conversion: Conversion


def claude_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of Claude Code: CLAUDE_CONFIG_DIR, else `.claude` in the user's home, on every platform."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude").expanduser()


def source_of(name: str, agent: str | None) -> Source:
    """Return the file that a name means: a path, or the id that an agent gave a session of its own.

    Raises NoSuchFile, NoSuchNativeSession, UnsupportedFormat.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return of_file(path, agent)
    if path.is_dir():
        raise NoSuchFile(f"{name} is a folder; name a session's file, or give --all for every session of this host.")
    if path.suffix or len(path.parts) > 1:
        raise NoSuchFile(f"There is no file {name}.")
    return _in_claude_code(name)


def of_file(path: Path, agent: str | None = None) -> Source:
    """Return what a file is, told by its first lines. Raises NoSuchFile, UnsupportedFormat."""
    try:
        with path.open("rb") as file:
            lines = list(islice(file, LINES_LOOKED_AT))
    except OSError as error:
        raise NoSuchFile(f"{path} cannot be read: {error.strerror or 'no reason given'}.") from None
    known = identify(lines, agent, str(path))
    return Source(known, path, known == CLAUDE_CODE and path.name.startswith("agent-") and _is_side_chain(lines))


def all_sources() -> Iterator[Source | StoreError]:
    """Yield every session of this host, sub-agents aside, oldest first; where one cannot be read, why."""
    projects = claude_home() / "projects"
    files = [path for path in projects.glob("*/*.jsonl") if not path.name.startswith("agent-")]
    for path in sorted(files, key=_changed_at):
        try:
            yield of_file(path)
        except StoreError as error:
            yield error
    for folder in sorted(projects.glob("*/*/")):
        if _uuid.fullmatch(folder.name) and not folder.with_name(f"{folder.name}.jsonl").exists():
            yield NoSuchNativeSession(
                f"{folder}: the session's own file is gone (Claude Code deletes old ones: cleanupPeriodDays)."
            )


def subagents_of(source: Source, native_id: str) -> list[Source]:
    """Return the files of a session's sub-agents."""
    if source.agent != CLAUDE_CODE or source.is_subagent:
        return []
    folder = source.path.with_suffix("") / "subagents"
    beside = [path for path in source.path.parent.glob("agent-*.jsonl") if _session_in(path) == native_id]
    return [Source(source.agent, path, is_subagent=True) for path in sorted([*folder.rglob("agent-*.jsonl"), *beside])]


def load(source: Source, call_ids: Mapping[str, str] | None = None) -> Loaded:
    """Read a session. `call_ids`: which call of the parent started which sub-agent. Raises NoSuchFile."""
    path = source.path
    try:
        with path.open("rb") as lines:
            if source.is_subagent:
                conversion = claude_code.Reading(list(lines), link_of(source, call_ids)).whole()
            else:
                conversion = READERS[source.agent].read(lines)
    except OSError as error:
        raise NoSuchFile(f"{path} cannot be read: {error.strerror or 'no reason given'}.") from None
    is_subagent = isinstance(conversion.meta.get("subagent"), dict)
    return Loaded(source, _native_id(source, conversion, is_subagent), starter_of(conversion), conversion)


def link_of(source: Source, call_ids: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """Return what is known of the call that started a sub-agent; None for a session that is none's. `call_ids`: see `load`."""
    if not source.is_subagent:
        return None
    call_id = (call_ids or {}).get(source.path.stem.removeprefix("agent-"), "")
    return claude_code.link_of(_sidecar(source.path), call_id)


def _native_id(source: Source, conversion: Conversion, is_subagent: bool) -> str:
    """The agent's own name of a session: for Claude Code's sessions that of the file, as its resume goes by it."""
    if source.agent == CLAUDE_CODE and not is_subagent and _uuid.fullmatch(source.path.stem):
        return source.path.stem
    with source.path.open("rb") as file:
        return native_id_of(conversion, file.readline())


def _in_claude_code(session_id: str) -> Source:
    projects = claude_home() / "projects"
    found = [*projects.glob(f"*/{_literal(session_id)}.jsonl"), *projects.glob(f"*/*/subagents/**/{_literal(session_id)}.jsonl")]
    if found:
        return of_file(max(found, key=_changed_at), CLAUDE_CODE)
    if any(projects.glob(f"*/{_literal(session_id)}/")):
        detail = "its folder is there, but its file is gone (Claude Code deletes old ones: cleanupPeriodDays)"
    else:
        detail = f"{sum(1 for _ in projects.glob('*/*.jsonl'))} files were looked at in {projects}"
    raise NoSuchNativeSession(f"There is neither a file nor a session {session_id[:80]!a} of {CLAUDE_CODE}: {detail}.")


def _literal(name: str) -> str:
    """A name for a glob, none of whose characters stands for others."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _is_side_chain(lines: list[bytes]) -> bool:
    return any(record.get("isSidechain") is True for record in map(_object, lines))


def _session_in(path: Path) -> str:
    """The id of the session that a transcript's first lines name."""
    with path.open("rb") as file:
        for record in map(_object, islice(file, LINES_LOOKED_AT)):
            if isinstance(record.get("sessionId"), str):
                return str(record["sessionId"])
    return ""


def _sidecar(path: Path) -> dict[str, Any] | None:
    try:
        return _object(path.with_suffix(".meta.json").read_bytes()) or None
    except OSError:
        return None


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
