"""How a session leaves a hub: what it says of itself, under which name, in which files.

What a fork does not say of itself (title, working directory) is what its nearest ancestor says; what names an ancestor it does not
inherit: it is another session.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from adapters.conversion import Json
from adapters.registry import WRITERS
from adapters.session import Session
from adapters.values import text_of
from adapters.written import Written
from eventstore.wire.codec import dump

File = tuple[str, bytes]  # a name with `/` between its steps, and the bytes
NAME_CHARS_MAX = 100
_OF_PUSH = frozenset({"pushed"})  # how far a push has come: says nothing outside the hub
_OF_ANCESTOR = _OF_PUSH | {"native_session_id", "parent_session_id", "subagent"}  # what says which session it is
_unsafe = re.compile(r"[^A-Za-z0-9._-]")


def meta_out(meta: Json, ancestors: Sequence[Json]) -> Json:
    """Return what a session says of itself outside the hub. `ancestors`: the metas of those that it is a fork of, nearest first."""
    told = _without(meta, _OF_PUSH)
    for ancestor in ancestors:
        told = _without(ancestor, _OF_ANCESTOR) | told
    return told


def name_out(session_id: str, meta: Json, ancestors: Sequence[Json]) -> str:
    """Return what the agent's own id is to be made of, "" where the meta says it.

    A fork goes by its agent's id where it has one of its own, or that of an ancestor whose newest it is since a rewind was pushed.
    """
    native_id = text_of(meta, "native_session_id")
    marks = [mark for ancestor in ancestors if isinstance(mark := ancestor.get("pushed"), dict)]
    newest = [name for mark in marks if isinstance(mark.get("newest"), dict) for name in mark["newest"].values()]
    has_own = session_id in newest or native_id not in [text_of(one, "native_session_id") for one in ancestors]
    return "" if not ancestors or (native_id and has_own) else session_id


def linked(child: Session, session_id: str) -> Session:
    """Return a sub-agent's session; where no agent said which one it is, it goes by the hub's id."""
    link = child.meta.get("subagent")
    own = link if isinstance(link, dict) else {}
    return child if own.get("agent_id") else replace(child, meta=child.meta | {"subagent": own | {"agent_id": session_id}})


def files_of(written: Written) -> tuple[list[File], list[str]]:
    """Return the files of a session and of its sub-agents, each with another name, and what they cannot hold.

    No name leads out of the folder, whatever the session says its id is.
    """
    files: list[File] = []
    left_out: list[str] = []
    taken: set[str] = set()
    for one in (written, *written.subagents):
        writer = WRITERS[one.agent]
        content, lost = writer.file(one.records)
        left_out += lost
        stem = next(stem for stem in _stems(one, writer.suffix) if stem not in taken)
        taken.add(stem)
        files.append((f"{stem}.{writer.suffix}", content))
        if one.sidecar is not None:
            files.append((f"{stem}.meta.json", dump(one.sidecar).encode()))
        files += ((f"{stem}/{'/'.join(path.split('/')[-2:])}", content) for path, content in one.beside)
    return files, left_out


def _without(meta: Json, names: Collection[str]) -> Json:
    return {name: value for name, value in meta.items() if name not in names}


def _stems(written: Written, suffix: str) -> Iterator[str]:
    """The name without its suffix; where it is taken, with a number."""
    steps = (written.path.removesuffix(f".{suffix}") or written.session_id or "session").split("/" if written.path else "\n")
    stem = "/".join(_unsafe.sub("_", step)[:NAME_CHARS_MAX].lstrip(".") or "_" for step in steps)
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1
