"""Where in the hub an agent's session goes on: in its own session, in the one that it was pulled from, or in a fork of it.

1. Where everything that the hub has is still the agent's, what is new is appended.
2. Where the agent took something back (a rewind), or went on from a place that the hub's session has left behind, the session is
   forked at the common prefix, once something new was said. The fork is the newest: the agent's id means it from then on.
3. A fork's idempotency keys come from what is new in it, so the same is never forked twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from adapters.arrival import creation
from adapters.continued import continued, is_made, known_to, name_of, record_names, rewound
from adapters.conversion import Json, Message
from adapters.session import metadata_of
from cli import push_marks
from cli.client import Hub, new_append_id, session_path
from cli.push_marks import Mark, find_mark, newest_of
from cli.push_origin import find_origin, messages_of
from cli.stores import Loaded
from eventstore.errors import SessionDeleted
from eventstore.wire.codec import dump


@dataclass
class Place:
    """The hub's session to push to. `is_own`: it was made from the agent's; `mark`: what it has.

    `known` are the append ids of messages that it has, so that they are not sent; `is_settled`: all that it has is live there.
    """

    session_id: str
    is_own: bool
    head_seq: int = 0
    mark: Mark | None = None
    known: frozenset[str] = frozenset()
    is_settled: bool = True
    notes: list[str] = field(default_factory=list)


def find_place(hub: Hub, loaded: Loaded, project_id: str, log_id: str) -> Place:
    """Return where a session goes on; makes the hub's session, or a fork of it, if need be. Raises SessionDeleted."""
    root, is_own = find_origin(hub, loaded, project_id), False
    if not root:
        root, was_there = open_session(hub, loaded, project_id)
        is_own = True
        if not was_there:
            return Place(root, is_own)
    name = push_marks.name_of(loaded)
    root_meta, root_head = _state_of(hub, root)
    branches = [(root, is_own, root_meta, root_head)]
    if newest := newest_of(root_meta, name):
        try:
            branches.insert(0, (newest, True, *_state_of(hub, newest)))
        except SessionDeleted:
            newest = ""
    messages = loaded.conversion.messages
    for session_id, owns, meta, head_seq in branches:
        mark = find_mark(meta, name, is_own=owns)
        if mark and mark.covers(log_id, head_seq, messages):
            known = frozenset(message.append_id for message in messages[: mark.messages])
            return Place(session_id, owns, head_seq, mark, known)
    fits = [_Fit(hub, loaded, session_id, owns, meta) for session_id, owns, meta, _ in branches]
    return _chosen(hub, loaded, root, fits, name)


def open_session(hub: Hub, loaded: Loaded, project_id: str) -> tuple[str, bool]:
    """Return the hub's id of a session, made if need be, and whether it was there before. The body is the same on every push."""
    body = creation(loaded.conversion.agent, loaded.native_id, loaded.parent_id, project_id)
    answer = hub.post("/v1/sessions", dump(body)).value
    return answer["session_id"], answer["duplicate"]


class _Fit:
    """How an agent's session stands to one of the hub's: what is new, and how much of the hub's is still live."""

    def __init__(self, hub: Hub, loaded: Loaded, session_id: str, is_own: bool, meta: Json) -> None:
        self.session_id, self.is_own, self.meta = session_id, is_own, meta
        self._loaded = loaded
        self.messages = messages_of(hub, session_id)
        self.known: frozenset[str] = frozenset()  # under other append ids
        self.is_mixed = self._holds_others()
        self.new = self._new(len(self.messages))
        self.kept = self._kept

    @property
    def is_whole(self) -> bool:
        return self.kept == len(self.messages)

    def new_after(self, kept: int) -> tuple[Message, ...]:
        """What is new to a fork that has the first `kept` messages."""
        return self._new(kept)

    def _new(self, count: int) -> tuple[Message, ...]:
        conversion, messages = self._loaded.conversion, self.messages[:count]
        if self.is_mixed:
            found = continued(conversion, self._loaded.native_id, self.meta, messages)
            self._kept = found.kept
            return found.new
        gone = rewound(conversion, messages)
        self._kept = count if gone is None else gone
        self.known = known_to(conversion, messages)
        known = {message.get("append_id") for message in messages} | self.known
        return tuple(message for message in conversion.messages if message.append_id not in known)

    def _holds_others(self) -> bool:
        """Does the agent have records that were written from what others said, or anew from what it said itself?"""
        agent = self._loaded.conversion.agent
        if not self.is_own:
            return True
        has = {name_of(agent, message.native_id) for message in self._loaded.conversion.messages}
        if all(metadata_of(message).get("agent_source") == agent for message in self.messages):
            has = {name for name in has if is_made(name)}  # its own numbers and names may be given anew: they prove nothing
        own = {name_of(agent, str(metadata_of(message).get("native_id"))) for message in self.messages}
        if has <= own:
            return False
        written = record_names(agent, self._loaded.native_id, self.meta, self.messages)
        return bool(has.intersection(written) - own)


def _chosen(hub: Hub, loaded: Loaded, root: str, fits: Sequence[_Fit], name: str) -> Place:
    messages = loaded.conversion.messages
    fit = next((fit for fit in fits if fit.is_whole), None)
    is_settled = fit is not None
    if fit is None:
        fit = max(fits, key=lambda one: one.kept)
        if fit.new:
            return _forked(hub, loaded, root, fit, name)
    new = {message.append_id for message in fit.new}
    is_fork = fit is not fits[-1]
    # in the session that was made from the agent's, what was sent before is offered again: a changed past is told
    known = frozenset(message.append_id for message in messages if message.append_id not in new)
    known = known if fit.is_mixed or is_fork else fit.known
    head_seq = _seq(fit.messages[-1]) if fit.messages else 0
    return Place(fit.session_id, fit.is_own, head_seq, None, known, is_settled)


def _forked(hub: Hub, loaded: Loaded, root: str, fit: _Fit, name: str) -> Place:
    """Fork at the common prefix, and let the agent's id mean the fork."""
    agent = loaded.conversion.agent
    new = fit.new_after(fit.kept)
    up_to_seq = _seq(fit.messages[fit.kept - 1]) if fit.kept else _seq(fit.messages[0]) - 1
    told = f"{agent} went on from here another way"
    snapshot = {
        "session_id": fit.session_id,
        "commit_msg": told,
        "up_to_seq": up_to_seq,
        "append_id": f"{agent}:branch:{up_to_seq}",
    }
    snapshot_id = hub.post("/v1/snapshots", dump(snapshot)).value["snapshot_id"]
    key = sha256(f"{name}\n{new[0].append_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    meta = {"agent_source": agent, "native_session_id": loaded.native_id}
    forked = hub.post(f"/v1/snapshots/{snapshot_id}/fork", dump({"meta": meta, "append_id": f"{agent}:branch:{key}"})).value
    session_id = forked["session_id"]
    hub.patch(session_path(root), dump({"pushed": {"newest": {name: session_id}}}), new_append_id())
    sent = {message.append_id for message in new}
    known = frozenset(message.append_id for message in loaded.conversion.messages if message.append_id not in sent)
    left = len(fit.messages) - fit.kept
    note = (
        f"a rewind, or another way on from an earlier place: {left} of {len(fit.messages)} messages of {fit.session_id} are"
        f" not on the way that {agent} took; {session_id} forks before them"
    )
    head_seq = _seq(fit.messages[fit.kept - 1]) if fit.kept else 0
    return Place(session_id, True, head_seq, None, known, notes=[note])


def _state_of(hub: Hub, session_id: str) -> tuple[Json, int]:
    """The meta of a session and its head."""
    told = hub.get(f"{session_path(session_id)}/lineage").document.fields
    meta = told["meta"]
    return meta if isinstance(meta, dict) else {}, told["head_seq"].as_int()


def _seq(message: Json) -> int:
    seq: int = message["seq"].as_int()
    return seq
