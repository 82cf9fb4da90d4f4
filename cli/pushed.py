"""What became of a session that was pushed: every message and every native line is counted once."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from cli.stores import Loaded


@dataclass
class Pushed:
    """What became of a session. A message or a native line is one item: found = appended + repeated + native + skipped."""

    loaded: Loaded
    session_id: str = ""
    is_own: bool = True  # the hub's session was made from the agent's
    is_settled: bool = True  # all that it has is live at the agent
    head_seq: int = 0  # the hub's session's, as far as it was heard of
    appended: int = 0
    repeated: int = 0
    native: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    redactions: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def found(self) -> int:
        conversion = self.loaded.conversion
        return len(conversion.messages) + sum(len(native.lines) for native in conversion.natives)

    def to_dict(self) -> dict[str, Any]:
        assert self.found == self.appended + self.repeated + self.native + sum(self.skipped.values()), "the sums do not match"
        return {
            "session_id": self.session_id,
            "native_session_id": self.loaded.native_id,
            "agent": self.loaded.conversion.agent,
            "version": self.loaded.conversion.version,
            "path": str(self.loaded.source.path),
            "found": self.found,
            "appended": self.appended,
            "repeated": self.repeated,
            "native": self.native,
            "skipped": sum(self.skipped.values()),
            "skipped_reasons": [{"reason": reason, "count": count} for reason, count in self.skipped.items()],
            "messages": len(self.loaded.conversion.messages),
            "redactions": dict(self.redactions),
            "notes": self.notes,
        }
