"""What an install needs of an agent's store, whatever it is made of: files, or a database.

1. A store is held while it is looked at and written: where the agent locks it, the agent is not in it.
2. Nothing is written before the record of the install is (`installs`), so that an install that was killed can be told from
   something that the agent itself wrote.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from adapters.written import Written
from eventstore.errors import StoreError

Json = dict[str, Any]


class SessionInTheWay(StoreError):
    """A session of this id is there, and it is not as an install left it."""

    code, title = "session_in_the_way", "The agent has a session of this id already"


class StoreHeld(StoreError):
    """The agent is running, or something else has its store open."""

    code, title, retryable = "store_held", "The agent's store is in use", True


class UnsupportedStore(StoreError):
    """The store is not one that we know how to write."""

    code, title = "unsupported_store", "The agent's store is not one that can be written to"


class NotInstalled(StoreError):
    """What was read back is not what was meant to be written."""

    code, title = "not_installed", "The session could not be installed"


class NoSuchInstall(StoreError):
    """Nothing of this session was installed here."""

    code, title = "no_such_install", "Nothing of this session was installed here"


class GoneOn(StoreError):
    """The agent has gone on with what was installed."""

    code, title = "gone_on", "The agent has gone on with the session"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be in the store. `names`: paths below the agent's folder, or ids of sessions; `digest`: of it, once it is there.

    `meant`: the append ids of the session's messages, as our reader finds them in what is written; `left_out`: what the store
    cannot hold; `notes`: what is another one there than what was written.
    """

    names: tuple[str, ...]
    digest: str
    meant: list[str]
    left_out: list[str]
    notes: list[str]
    content: Any = field(repr=False)
    half_done: tuple[str, ...] = ()  # digests of what is there when an install, or its undo, is killed midway


class Hold(Protocol):
    """A store that is held. What is put in or taken out counts when the block that holds it is left well."""

    def plan(self, written: Written) -> Plan:
        """Return what a session would be in this store. Raises UnsupportedStore, SessionInTheWay."""

    def digest(self, names: tuple[str, ...]) -> str:
        """Return what is there under these names, as `Plan.digest` says it; "" where there is nothing."""

    def undo_of(self, plan: Plan, old: Json | None) -> Json:
        """Return what `take` will need, told before anything is put in. `old`: the same of the install whose place it takes."""

    def put(self, plan: Plan, old: Json | None) -> None:
        """Put it in. Raises SessionInTheWay where something has come there meanwhile."""

    def take(self, names: tuple[str, ...], undo: Json, digests: Sequence[str]) -> None:
        """Take out what `put` put in. Raises GoneOn where it is no longer as one of these digests says."""

    def sweep(self, names: tuple[str, ...], undo: Json) -> None:
        """Take out what an install left on its way that was killed before anything was in place."""


class Store(Protocol):
    """Where an agent keeps its sessions on this host."""

    place: Path  # the folder or the database

    def held(self, *, is_to_write: bool) -> AbstractContextManager[Hold]:
        """Hold it, made first if there is none and it is to be written. Raises StoreHeld, UnsupportedStore."""

    def facts_after(self, undo: Json) -> Json:
        """Return what `take` will need, with what is known only once all is in place."""

    def read_back(self, names: tuple[str, ...]) -> list[str]:
        """Return the append ids of the messages of the first of these sessions, as our reader finds them in the store."""


def digest_of(parts: list[bytes]) -> str:
    """Return a digest of these parts, in order; "" for none."""
    whole = sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest() if parts else ""
