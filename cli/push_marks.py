"""Marks: what of an agent's session a session of the hub has already, kept in its meta (`pushed`), written last.

As long as a mark holds, what it covers is not sent again. It names the log: after a restore everything is offered once more. A
session that came from another agent has a mark for each agent that went on with it (`pushed.by`, by agent and its id).
"""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from adapters.conversion import Json, Message, NativeRecords
from adapters.values import object_of
from cli.stores import Loaded
from eventstore.wire.codec import dump


class Mark(msgspec.Struct, frozen=True):
    """What of a session was pushed to which log: so many messages and closed native batches, each with a digest of their ids, and
    the digest of the meta that was set. A digest of "" covers nothing. `head_seq` is the hub's session's: where it has another, a
    follower that was killed, or somebody else, has appended since."""

    log_id: str
    messages: int
    messages_digest: str
    natives: int
    natives_digest: str
    meta_digest: str
    head_seq: int = 0

    def covers(self, log_id: str, head_seq: int, messages: Sequence[Message]) -> bool:
        if (self.log_id, self.head_seq) != (log_id, head_seq) or not self.messages_digest:
            return False
        return digest(messages[: self.messages]) == self.messages_digest

    def natives_covered(self, log_id: str, natives: Sequence[NativeRecords]) -> int:
        is_covered = self.log_id == log_id and self.natives_digest == digest(natives[: self.natives])
        return self.natives if is_covered else 0


def mark_of(loaded: Loaded, log_id: str, meta_digest: str, head_seq: int) -> Mark:
    """Return the mark of a session that was pushed whole."""
    messages, natives = loaded.conversion.messages, loaded.conversion.natives[:-1]
    return Mark(log_id, len(messages), digest(messages), len(natives), digest(natives), meta_digest, head_seq)


def find_mark(meta: Json, name: str, *, is_own: bool) -> Mark | None:
    """Return the mark in a session's meta; `name` is that of the agent's session, `is_own`: it is what the hub's was made from."""
    told = pushed_in(meta)
    try:
        return msgspec.json.decode(dump(told if is_own else object_of(told, "by").get(name)), type=Mark)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


def patch_of(mark: Mark, name: str, *, is_own: bool) -> Json:
    """Return the patch of the meta that sets a mark."""
    told = msgspec.to_builtins(mark)
    return {"pushed": told if is_own else {"by": {name: told}}}


def pushed_in(meta: Json) -> Json:
    """What push keeps in a session's meta."""
    return object_of(meta, "pushed")


def name_of(loaded: Loaded) -> str:
    """How an agent's session is called in `pushed.by` and `pushed.newest`."""
    return f"{loaded.conversion.agent}:{loaded.native_id}"


def newest_of(meta: Json, name: str) -> str:
    """Return the hub's id of the branch that the agent's session went on in, "" where it took nothing back."""
    found = object_of(pushed_in(meta), "newest").get(name)
    return found if isinstance(found, str) else ""


def digest(entries: Sequence[Message | NativeRecords]) -> str:
    found = sha256()
    for entry in entries:
        found.update(entry.append_id.encode("utf-8", "surrogatepass") + b"\n")
    return found.hexdigest()[:32]
