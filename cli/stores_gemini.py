"""Gemini CLI's store on this host: `tmp/<folder of a project>/chats/` in its home, a file a session.

1. A session is `session-<time>-<first 8 of its id>.jsonl` (`.json` in older versions), its sub-agents `<its id>/<their id>.jsonl`.
   The first line names the session: a file's name is not enough.
2. Whoever resumes a session leaves a second file of it, with the harness's own context in it and nothing else; and a session that
   was begun by an older version stands in two files. Of several files of one session the one that says most counts.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from adapters.conversion import Conversion
from adapters.gemini.reader import read
from adapters.gemini.records import AGENT
from adapters.session import is_harness
from cli.source import Source
from cli.store_files import changed_at, literal, object_in
from eventstore.errors import StoreError

_safe = re.compile(r"[^a-zA-Z0-9_-]")


def gemini_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the agent's folder: `.gemini` in GEMINI_CLI_HOME, else in the user's home, on every platform."""
    return (Path(environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini").expanduser()


def find(session_id: str) -> tuple[Source | None, list[str]]:
    """Return the session of this id, or the sub-agent's, and what was looked at."""
    looked: list[str] = []
    for place in _places():
        name = literal(_safe.sub("_", session_id))
        if files := files_of(place, session_id):
            return Source(AGENT, _fullest(files)), looked
        children = list((place / "tmp").glob(f"*/chats/*/{name}.jsonl"))
        if children:
            return Source(AGENT, max(children, key=changed_at), is_subagent=True), looked
        looked.append(f"{sum(1 for _ in _files(place, 'session-*'))} files were looked at in {place / 'tmp'}")
    return None, looked


def files_of(place: Path, session_id: str) -> list[Path]:
    """Return the files of a session below the agent's folder, whatever project they are in."""
    begin = literal(_safe.sub("_", session_id)[:8])
    return [path for path in _files(place, f"session-*-{begin}") if _id_of(path) == session_id]


def all_in_stores() -> Iterator[Source | StoreError]:
    """Yield every session, sub-agents aside, oldest first; those in which nothing was said are none."""
    files: dict[str, list[Path]] = defaultdict(list)
    for place in _places():
        for path in _files(place, "session-*"):
            files[_id_of(path) or str(path)].append(path)
    chosen = (_fullest(paths) for paths in files.values())
    for path in sorted(chosen, key=changed_at):
        if _said(path):
            yield Source(AGENT, path)


def children_of(source: Source, native_id: str) -> list[Source]:
    """Return the files of a session's sub-agents, or of a sub-agent's own."""
    chats = source.path.parent.parent if source.is_subagent else source.path.parent
    folder = chats / _safe.sub("_", native_id)
    return [Source(AGENT, path, is_subagent=True) for path in sorted(folder.glob("*.jsonl"), key=changed_at)]


def is_child(path: Path, lines: list[bytes]) -> bool:
    """Is it a sub-agent's file? Its first line says so."""
    return bool(lines) and object_in(lines[0]).get("kind") == "subagent" and path.parent.parent.name == "chats"


def read_child(source: Source, lines: list[bytes], call_ids: Mapping[str, str], *, is_final: bool) -> Conversion:
    """Return a sub-agent's session, linked to the session in whose folder it is and the call that started it."""
    conversion = read(lines, is_final=is_final)
    link = conversion.meta.get("subagent")
    told = dict(link) if isinstance(link, dict) else {"agent_id": source.path.stem}
    told["parent_session_id"] = source.path.parent.name
    if call_id := call_ids.get(str(told["agent_id"]), ""):
        told["tool_use_id"] = call_id
    return replace(conversion, meta=conversion.meta | {"subagent": told})


def _places() -> list[Path]:
    """The agent's folder, and the one that it keeps on macOS within its sandbox."""
    home = gemini_home()
    return [place for place in (home, home.parent / ".cache" / home.name) if (place / "tmp").is_dir()]


def _files(place: Path, name: str) -> Iterator[Path]:
    yield from (path for suffix in ("jsonl", "json") for path in (place / "tmp").glob(f"*/chats/{name}.{suffix}"))


def _id_of(path: Path) -> str:
    """The id that a session's first line names, or its whole document."""
    return _told(path, *_state(path))[0]


def _fullest(paths: list[Path]) -> Path:
    """The file that says most; of equal ones the newest."""
    return paths[0] if len(paths) == 1 else max(paths, key=lambda path: (_said(path), changed_at(path)))


def _said(path: Path) -> int:
    """How much was said in it, the harness's own context aside."""
    return _told(path, *_state(path))[1]


def _state(path: Path) -> tuple[int, int]:
    """What changes whenever the file does."""
    try:
        state = path.stat()
    except OSError:
        return 0, 0
    return state.st_size, state.st_mtime_ns


@lru_cache(maxsize=4096)
def _told(path: Path, _size: int, _changed_ns: int) -> tuple[str, int]:
    """A session's id and how much was said in it. A follower asks every second: what has not changed is not read again."""
    try:
        with path.open("rb") as lines:
            conversion = read(lines)
    except OSError:
        return "", 0
    said = sum(not is_harness(message.body) for message in conversion.messages)
    return str(conversion.meta.get("native_session_id", "")), said
