"""Claude Code's store on this host: its transcripts, its sub-agents' and their sidecars.

A session is `<home>/projects/<folder>/<session id>.jsonl`, its sub-agents `<session id>/subagents/**/agent-<id>.jsonl`, in older
versions beside it, each with a sidecar `agent-<id>.meta.json`.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from adapters.claude_code import reader as claude_code
from adapters.claude_code.side_files import FOLDER, File
from adapters.made_names import is_uuid
from adapters.registry import LINES_LOOKED_AT
from cli.source import NoSuchNativeSession, Source
from cli.store_files import changed_at, literal, object_in
from eventstore.errors import StoreError

CLAUDE_CODE = "claude-code"


def claude_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of Claude Code: CLAUDE_CONFIG_DIR, else `.claude` in the user's home, on every platform."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude").expanduser()


def find(session_id: str) -> tuple[Source | None, list[str]]:
    """Return the session of this id, and what was looked at."""
    projects = claude_home() / "projects"
    name = literal(session_id)
    found = [*projects.glob(f"*/{name}.jsonl"), *projects.glob(f"*/*/subagents/**/{name}.jsonl")]
    if found:
        return source_of(max(found, key=changed_at)), []
    if any(projects.glob(f"*/{name}/")):
        return None, ["its folder is there, but its file is gone (Claude Code deletes old ones: cleanupPeriodDays)"]
    return None, [f"{sum(1 for _ in projects.glob('*/*.jsonl'))} files were looked at in {projects}"]


def source_of(path: Path) -> Source:
    """Return a transcript as a source. Raises OSError."""
    with path.open("rb") as file:
        lines = list(islice(file, LINES_LOOKED_AT))
    return Source(CLAUDE_CODE, path, path.name.startswith("agent-") and is_side_chain(lines))


def all_in_stores() -> Iterator[Source | StoreError]:
    """Yield every session, sub-agents aside, oldest first; where one cannot be read, why."""
    projects = claude_home() / "projects"
    files = [path for path in projects.glob("*/*.jsonl") if not path.name.startswith("agent-")]
    for path in sorted(files, key=changed_at):
        yield Source(CLAUDE_CODE, path)
    for folder in sorted(projects.glob("*/*/")):
        if is_uuid(folder.name) and not folder.with_name(f"{folder.name}.jsonl").exists():
            yield NoSuchNativeSession(
                f"{folder}: the session's own file is gone (Claude Code deletes old ones: cleanupPeriodDays)."
            )


def children_of(source: Source, native_id: str) -> list[Source]:
    """Return the files of a session's sub-agents."""
    if source.is_subagent:
        return []
    folder = source.path.with_suffix("") / "subagents"
    beside = [path for path in source.path.parent.glob("agent-*.jsonl") if _session_in(path) == native_id]
    return [Source(source.agent, path, is_subagent=True) for path in sorted([*folder.rglob("agent-*.jsonl"), *beside])]


def side_files(source: Source) -> list[File]:
    """Return the long outputs of tools that stand beside a session's transcript. One that goes meanwhile is left out."""
    if source.is_subagent:
        return []
    found: list[File] = []
    for path in sorted((source.path.with_suffix("") / FOLDER).glob("*")):
        try:
            found += [(path.name, path.read_bytes())] if path.is_file() else []
        except OSError:
            continue
    return found


def link_of(source: Source, call_ids: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """Return what is known of the call that started a sub-agent; None for a session that is none's. `call_ids`: see `load`."""
    if not source.is_subagent:
        return None
    call_id = (call_ids or {}).get(source.path.stem.removeprefix("agent-"), "")
    return claude_code.link_of(_sidecar(source.path), call_id)


def is_side_chain(lines: list[bytes]) -> bool:
    return any(record.get("isSidechain") is True for record in map(object_in, lines))


def _session_in(path: Path) -> str:
    """The id of the session that a transcript's first lines name."""
    with path.open("rb") as file:
        for record in map(object_in, islice(file, LINES_LOOKED_AT)):
            if isinstance(record.get("sessionId"), str):
                return str(record["sessionId"])
    return ""


def _sidecar(path: Path) -> dict[str, Any] | None:
    try:
        return object_in(path.with_suffix(".meta.json").read_bytes()) or None
    except OSError:
        return None
