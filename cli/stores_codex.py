"""Codex's store on this host: `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl` in its home, a file a session.

Archived ones lie in `archived_sessions`. A sub-agent's session is a file like the others; its first line names who started it. The
databases beside them are the agent's own lists, made of the files again where they are missing.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from adapters.codex.reader import read
from adapters.codex.records import AGENT
from adapters.conversion import Conversion
from adapters.values import object_of
from cli.source import Source
from cli.store_files import changed_at, literal, object_in
from eventstore.errors import StoreError

PLACES = ("sessions/*/*/*", "archived_sessions")
FIRST_LINE_BYTES_MAX = 4 * 1024 * 1024


def codex_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the agent's folder: CODEX_HOME, else `.codex` in the user's home, on every platform."""
    return Path(environ.get("CODEX_HOME") or Path.home() / ".codex").expanduser()


def find(session_id: str) -> tuple[Source | None, list[str]]:
    """Return the session of this id, or the sub-agent's, and what was looked at."""
    home = codex_home()
    found = files_of(home, session_id)
    if found:
        path = max(found, key=changed_at)
        return Source(AGENT, path, bool(_parent_of(path))), []
    count = len(files_of(home, "*"))
    return None, [f"{count} files were looked at in {home}"] if home.is_dir() else []


def all_in_stores() -> Iterator[Source | StoreError]:
    """Yield every session, sub-agents aside, oldest first."""
    for path in sorted(files_of(codex_home(), "*"), key=changed_at):
        if not _parent_of(path):
            yield Source(AGENT, path)


def children_of(source: Source, native_id: str) -> list[Source]:
    """Return the files of the sub-agents that a session started."""
    home = next((folder for folder in source.path.parents if folder.name in ("sessions", "archived_sessions")), None)
    files = files_of(home.parent, "*") if home else []
    return [Source(AGENT, path, is_subagent=True) for path in sorted(files, key=changed_at) if _parent_of(path) == native_id]


def read_child(lines: list[bytes], call_ids: Mapping[str, str], *, is_final: bool) -> Conversion:
    """Return a sub-agent's session, linked to the call that started it."""
    conversion = read(lines, is_final=is_final)
    link = conversion.meta.get("subagent")
    call_id = call_ids.get(str(link.get("agent_id")), "") if isinstance(link, dict) else ""
    if not isinstance(link, dict) or not call_id:
        return conversion
    return replace(conversion, meta=conversion.meta | {"subagent": link | {"tool_use_id": call_id}})


def files_of(home: Path, session_id: str) -> list[Path]:
    """Return the files of the session of this id; `*`: of every one."""
    name = "*" if session_id == "*" else literal(session_id)
    return [path for place in PLACES for path in home.glob(f"{place}/rollout-*-{name}.jsonl") if path.is_file()]


def _parent_of(path: Path) -> str:
    """The id of the session that started this one, as its first line says; "" for none."""
    try:
        return _told_by(path, path.stat().st_ino)
    except OSError:
        return ""


@lru_cache(maxsize=65536)
def _told_by(path: Path, inode: int) -> str:
    """The same; a first line never changes."""
    with path.open("rb") as file:
        own = object_of(object_in(file.readline(FIRST_LINE_BYTES_MAX)), "payload")
    told = object_of(object_of(own, "source"), "subagent")
    return str(object_of(told, "thread_spawn").get("parent_thread_id") or "")
