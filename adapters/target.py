"""Where a session is written for: what its own records cannot say."""

from dataclasses import dataclass

from eventstore.errors import StoreError


class UnknownVersion(StoreError):
    """A format version that no writer was made for: what we would write might not be read, or be read wrongly."""

    code, title = "unknown_version", "No writer is made for this version of the agent"


@dataclass(frozen=True, slots=True)
class Target:
    """The agent's side of a session that is to be written. Every string may be empty; the default is said beside it."""

    session_id: str = ""  # the agent's own id to use; else the original one where it goes home, else made from the session
    cwd: str = ""  # working directory on the target host; else the original one
    now_ms: int = 0  # no time later than this is written, in ms since 1970; 0: any time goes
    provider: str = ""  # the local provider and model to go on with, where the format needs them; else the original ones
    model: str = ""
    version: str = ""  # the agent's version to write for; else the newest known. Unknown ones raise UnknownVersion
