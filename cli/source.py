"""A session on this host before it is read: which agent's, in which file; and the errors of those that are not there."""

from dataclasses import dataclass
from pathlib import Path

from eventstore.errors import StoreError


class NoSuchFile(StoreError):
    """What was named is neither a file nor an id."""

    code, title = "no_such_file", "There is no such file"


class NoSuchNativeSession(StoreError):
    """No agent's store holds this session."""

    code, title = "no_such_native_session", "No agent on this host has this session"


@dataclass(frozen=True, slots=True)
class Source:
    """A file that holds a session, or a database that holds it among others: then `session_id` says which."""

    agent: str
    path: Path
    is_subagent: bool = False
    session_id: str = ""

    @property
    def place(self) -> str:
        """How it is named to people."""
        return f"{self.path} ({self.session_id})" if self.session_id else str(self.path)
