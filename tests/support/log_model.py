"""The log as a model made of lists: what every session, snapshot and event must read as. No idea in it is the program's."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

INHERITED = ("message.appended", "native.recorded")


@dataclass
class Event:
    """One event of the log. `payload` as it is read; of a message, what is known of it."""

    seq: int
    session: "Session"
    kind: str
    append_id: str
    payload: dict[str, Any]
    native: Any = None
    created_at: str = ""  # by the server's clock: what was read first


@dataclass(eq=False)
class Snapshot:
    """A named point in a session."""

    seq: int
    session: "Session"
    up_to_seq: int
    commit_msg: str
    meta: dict[str, Any]

    @property
    def snapshot_id(self) -> str:
        return f"snap_{self.seq}"


@dataclass(eq=False)
class Session:
    """A session: its own events, and where it comes from."""

    session_id: str
    project_id: str
    meta: dict[str, Any]
    source: Snapshot | None = None
    events: list[Event] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    deleted: bool = False

    @property
    def seq(self) -> int:
        return self.events[0].seq

    @property
    def last_seq(self) -> int:
        return self.events[-1].seq

    @property
    def parent(self) -> "Session | None":
        return self.source.session if self.source else None

    def stream(self) -> list[Event]:
        """Its own events of every kind after what it inherits: messages and native records."""
        inherited: list[Event] = []
        if self.source:
            older = self.source.session.stream()
            inherited = [event for event in older if event.seq <= self.source.up_to_seq and event.kind in INHERITED]
        return inherited + self.events

    def messages(self) -> list[Event]:
        return [event for event in self.stream() if event.kind == "message.appended"]

    @property
    def head_seq(self) -> int:
        messages = self.messages()
        return messages[-1].seq if messages else 0

    @property
    def title(self) -> str:
        title = self.meta.get("title")
        return title if isinstance(title, str) else ""

    @property
    def agent_source(self) -> str:
        """The agent that a message comes from which does not say it."""
        return str(self.meta.get("agent_source") or "unknown")

    def ancestors(self) -> "Iterator[tuple[Session, Snapshot]]":
        """Its parents, nearest first, each with the snapshot that was taken of it."""
        session: Session | None = self
        while session and session.source:
            yield session.source.session, session.source
            session = session.source.session


@dataclass
class Log:
    """All that was written since `base`, the head when the model began."""

    base: int
    events: list[Event] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    answers: dict[tuple[Any, str], "Known"] = field(default_factory=dict)

    @property
    def head(self) -> int:
        return self.base + len(self.events)

    def add(self, session: Session, kind: str, append_id: str, payload: dict[str, Any], native: Any = None) -> Event:
        """Append an event: it gets the next number, and there is no hole."""
        event = Event(self.head + 1, session, kind, append_id, payload, native)
        self.events.append(event)
        session.events.append(event)
        return event

    def forks_of(self, session: Session) -> list[Session]:
        return [other for other in self.sessions if other.parent is session and not other.deleted]


@dataclass
class Known:
    """What was answered under an append id, and to which body."""

    body: Any
    answer: dict[str, Any]

    @property
    def seq(self) -> int:
        return int(self.answer["seq"])


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396, told once more."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name in patch:
        if patch[name] is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), patch[name])
    return result
