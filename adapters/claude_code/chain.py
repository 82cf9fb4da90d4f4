"""A chain of lines that Claude Code would have written: envelopes, parents, and times that never go back.

No time is later than `now_ms`, as far as the lines before it allow; none is earlier than that of the line before.
"""

from dataclasses import dataclass
from datetime import UTC
from functools import partial

from adapters.conversion import Json
from adapters.made_names import uuid_of
from adapters.moments import moment_of, stamp

moment_ms = partial(moment_of, zone=UTC)  # what of the agent's own has no offset is in UTC


@dataclass(frozen=True, slots=True)
class Envelope:
    """What all lines of a session say alike. `agent_id` is empty outside sub-agents."""

    session_id: str
    cwd: str
    version: str
    git_branch: str
    agent_id: str


class Chain:
    """Gives each new line its uuid, its parent and its time. `parent` is the uuid of the line that the next one follows."""

    def __init__(self, envelope: Envelope, now_ms: int, parent: str | None = None, time_ms: int = 0) -> None:
        self.envelope, self.parent = envelope, parent
        self._now_ms, self._time_ms = now_ms, time_ms

    def line(self, kind: str, name: str, created_at: object, body: Json) -> Json:
        """Return the line of this name and make it the parent of the next one."""
        envelope = self.envelope
        record: Json = {"parentUuid": self.parent, "isSidechain": bool(envelope.agent_id), "userType": "external"}
        record |= {"cwd": envelope.cwd, "sessionId": envelope.session_id, "version": envelope.version}
        record |= {"gitBranch": envelope.git_branch}
        if envelope.agent_id:
            record["agentId"] = envelope.agent_id
        uuid = uuid_of(name)
        record |= {"type": kind, **body, "uuid": uuid, "timestamp": self.time(created_at)}
        self.parent = uuid
        return record

    def time(self, created_at: object) -> str:
        """Return the time to write for one that was said, and let no later line be earlier."""
        said = moment_ms(created_at)
        wanted = self._time_ms if said is None else said
        if self._now_ms:
            wanted = min(wanted, self._now_ms)
        self._time_ms = max(wanted, self._time_ms)
        return stamp(self._time_ms)
