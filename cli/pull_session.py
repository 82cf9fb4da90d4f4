"""A session out of a hub, whole: its messages and native records over its lineage, and the sessions of its sub-agents."""

from dataclasses import dataclass, replace
from typing import Any

from adapters.departure import linked, meta_out, name_out
from adapters.session import Session, is_message
from cli.client import Hub, session_path
from eventstore.errors import SessionDeleted
from eventstore.wire.codec import items, parse

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pulled:
    """A session as a hub has it. `name` is what the target is to make its own id of, "" where the session says it."""

    session_id: str
    project_id: str
    session: Session
    name: str
    head_seq: int
    purged: int
    subagents: "tuple[Pulled, ...]" = ()

    def all(self) -> "list[Pulled]":
        """The session, its sub-agents, and theirs."""
        return [self, *(one for child in self.subagents for one in child.all())]


def pull_session(hub: Hub, session_id: str, known: frozenset[str] = frozenset()) -> Pulled:
    """Read a session and those of its sub-agents. `known`: those on whose behalf it is read.

    Raises SessionNotFound, SessionDeleted, HubUnreachable, Unauthorized, ….
    """
    lineage = hub.get(f"{session_path(session_id)}/lineage").document
    facts = lineage.fields
    entries, purged = _entries(hub, session_id)
    parents = [parent["session_id"] for parent in facts["parents"]]
    ancestors = [_meta(hub, parent) for parent in parents]
    meta = facts["meta"]
    known = known | {session_id}
    children = [child["session_id"] for child in facts["subagents"] if child["session_id"] not in known]
    return Pulled(
        session_id=session_id,
        project_id=str(facts["project_id"]),
        session=Session(meta_out(meta, ancestors), tuple(entries)),
        name=name_out(session_id, meta, ancestors),
        head_seq=int(str(facts.get("head_seq") or 0)),
        purged=purged,
        subagents=tuple(_linked(pull_session(hub, child, known)) for child in children),
    )


def _entries(hub: Hub, session_id: str) -> tuple[list[Json], int]:
    """Return all that can be read, and how many entries were purged."""
    entries: list[Json] = []
    purged, after_seq, log_id = 0, 0, None
    while True:
        document = hub.get(f"{session_path(session_id)}/entries", after_seq=after_seq, limit=1000, log_id=log_id).document
        page = [parse(source) for source in items(document.source("entries"))]
        if not page:
            return entries, purged
        read = [entry for entry in page if is_message(entry) or "records" in entry]
        entries += read
        purged += len(page) - len(read)
        after_seq, log_id = document.fields["next_after_seq"], document.fields["log_id"]


def _meta(hub: Hub, session_id: str) -> Json:
    """What an ancestor says of itself; one that is deleted says nothing any more."""
    try:
        meta: Json = hub.get(f"{session_path(session_id)}/lineage").document.fields["meta"]
    except SessionDeleted:
        return {}
    return meta


def _linked(child: Pulled) -> Pulled:
    return replace(child, session=linked(child.session, child.session_id))
