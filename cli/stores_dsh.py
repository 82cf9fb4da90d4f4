"""The store of DeepSeek Harness on this host: which sessions it holds, and where; it is never written to."""

import os
from collections.abc import Iterator, Mapping

from cli.containers_dsh import AGENT, home, home_of, logs_in
from cli.containers_sqlite import UnreadableContainer
from cli.source import Source
from eventstore.errors import StoreError


def find(session_id: str, environ: Mapping[str, str] = os.environ) -> tuple[Source | None, list[str]]:
    """Return the session of this id in the store of this host, and what was looked at."""
    looked = 0
    for listed in logs_in(home(environ)):
        looked += 1
        if listed.session_id == session_id:
            return Source(AGENT, listed.path, listed.is_subagent), []
    return None, [f"{looked} sessions were looked at in {home(environ)}"] if looked else []


def all_in_stores(environ: Mapping[str, str] = os.environ) -> Iterator[Source | StoreError]:
    """Yield every session of this host, sub-agents aside, oldest first; where one cannot be read, why."""
    found = list(logs_in(home(environ)))
    known = {listed.session_id for listed in found}
    for listed in found:
        if listed.problem:
            yield UnreadableContainer(listed.problem)
        elif not (listed.is_subagent and listed.parent_id in known):
            yield Source(AGENT, listed.path)


def children_of(source: Source, session_id: str) -> list[Source]:
    """Return the sessions of a session's sub-agents, oldest first; none where its log stands in no store."""
    folder = home_of(source.path)
    if folder is None or not session_id:
        return []
    own = (listed for listed in logs_in(folder) if listed.is_subagent and listed.parent_id == session_id)
    return [Source(AGENT, listed.path, is_subagent=True) for listed in own if listed.session_id != session_id]
