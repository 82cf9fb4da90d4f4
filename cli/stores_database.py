"""The stores of OpenCode and Hermes on this host: which sessions their databases and trees hold, and one of them, read.

A store is read as it is at one moment, and never written to. A session that cannot be read spoils no other.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from adapters.conversion import Conversion
from adapters.hermes.reader import read_document as read_hermes
from adapters.opencode.reader import read_document as read_opencode
from cli import containers_hermes, containers_opencode
from cli.containers_sqlite import Contents, UnreadableContainer, is_database
from cli.source import Source
from eventstore.errors import StoreError

OPENCODE, HERMES = "opencode", "hermes"


class Row(Protocol):
    """A session as a store lists it."""

    @property
    def session_id(self) -> str: ...
    @property
    def parent_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Container:
    """How an agent's databases are found and read. `stores` names those of this host, `is_subagent` tells of a listed session."""

    stores: Callable[[Mapping[str, str]], Sequence[Path]]
    sessions: Callable[[Path], Sequence[Row]]
    is_subagent: Callable[[Any], bool]
    read: Callable[[Path, str], Contents]
    convert: Callable[..., Conversion]


CONTAINERS: Mapping[str, Container] = {
    OPENCODE: Container(
        lambda environ: [path for path in [containers_opencode.store_of(environ)] if path],
        containers_opencode.sessions_in,
        lambda listed: bool(listed.parent_id),
        containers_opencode.read_container,
        read_opencode,
    ),
    HERMES: Container(
        containers_hermes.stores_of,
        containers_hermes.sessions_in,
        lambda listed: bool(listed.parent_id) and listed.source in ("subagent", "tool"),
        containers_hermes.read_container,
        read_hermes,
    ),
}


def is_container(path: Path) -> bool:
    """Is it a database, or a tree of OpenCode's?"""
    return is_database(path) or containers_opencode.is_tree(path)


def read_session(path: Path, agent: str, session_id: str, *, is_final: bool = True) -> Conversion:
    """Return one session; what of it could not be read is in the report's warnings. Raises UnreadableContainer."""
    container = CONTAINERS[agent]
    contents = container.read(path, session_id)
    return with_problems(container.convert(contents.document, is_final=is_final), contents.problems)


def with_problems(conversion: Conversion, problems: Sequence[str]) -> Conversion:
    """Say in the report what of a container could not be read as it should be."""
    if not problems:
        return conversion
    told = [
        {"path": "container", "reason": problem[:200], "count": 1, "example": problem.partition(":")[0]} for problem in problems
    ]
    return replace(conversion, report=conversion.report | {"warnings": [*conversion.report["warnings"], *told]})


def in_container(path: Path, agent: str | None, session_id: str) -> Source:
    """Return a session of a database or tree; `session_id` may be empty where it holds only one.

    `agent` may be None: then the tables tell. Raises UnreadableContainer.
    """
    refusals: list[StoreError] = []
    for name in [agent] if agent else CONTAINERS:
        if name not in CONTAINERS:
            raise UnreadableContainer(f"{path} is a database; {agent} keeps its sessions in files.")
        try:
            listed = CONTAINERS[name].sessions(path)
        except UnreadableContainer as error:
            refusals.append(error)
            continue
        if not session_id and len(listed) != 1:
            raise UnreadableContainer(f"{path} holds {len(listed)} sessions: name one with --session.")
        if session_id not in ("", *(one.session_id for one in listed)):
            raise UnreadableContainer(f"{path} holds no session {session_id[:80]!a}; it holds {len(listed)}.")
        return Source(name, path, session_id=session_id or listed[0].session_id)
    raise refusals[0] if len(refusals) == 1 else UnreadableContainer(f"{path} is no database of {' or '.join(CONTAINERS)}.")


def find(agent: str, session_id: str, environ: Mapping[str, str] = os.environ) -> tuple[Source | None, list[str]]:
    """Return the session of this id in the agent's stores of this host, and what was looked at."""
    looked: list[str] = []
    container = CONTAINERS[agent]
    for path in container.stores(environ):
        try:
            listed = container.sessions(path)
        except UnreadableContainer as error:
            looked.append(error.detail)
            continue
        if any(one.session_id == session_id for one in listed):
            return Source(agent, path, session_id=session_id), looked
        looked.append(f"{len(listed)} sessions were looked at in {path}")
    return None, looked


def all_in_stores(agent: str, environ: Mapping[str, str] = os.environ) -> Iterator[Source | StoreError]:
    """Yield every session of the agent's stores of this host, sub-agents aside, oldest first; where one cannot be read, why."""
    container = CONTAINERS[agent]
    for path in container.stores(environ):
        try:
            listed = container.sessions(path)
        except UnreadableContainer as error:
            yield error
            continue
        known = {one.session_id for one in listed}
        for one in listed:
            if not (container.is_subagent(one) and one.parent_id in known):
                yield Source(agent, path, session_id=one.session_id)


def children_of(source: Source) -> list[Source]:
    """Return the sub-agents' sessions of a session, oldest first."""
    container = CONTAINERS[source.agent]
    listed = container.sessions(source.path)
    own = [one for one in listed if container.is_subagent(one) and one.parent_id == source.session_id != one.session_id]
    return [Source(source.agent, source.path, is_subagent=True, session_id=one.session_id) for one in own]
