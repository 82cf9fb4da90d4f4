"""Installs: a record of what was put into agents' stores on this host, kept with the client's own data, never in those stores."""

import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from eventstore.errors import InvalidSettings


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One install. `digests`: how the store may look as we left it, the newest last (two while one takes the other's place)."""

    agent: str
    store: str
    session_id: str
    native_id: str
    head_seq: int
    messages: int
    installed_at: str
    names: tuple[str, ...]
    digests: list[str]
    undo: dict[str, Any]


class Journal:
    """The records of a folder, a file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, agent: str, store: Path, native_id: str) -> Record | None:
        """Return what was installed there under this id."""
        return self._read(self._path(agent, str(store), native_id))

    def newest(self, agent: str, session: str) -> Record | None:
        """Return the last install of a session, given by the hub's id or by the agent's."""
        found = [record for record in self._all() if record.agent == agent and session in (record.session_id, record.native_id)]
        return max(found, key=lambda record: record.installed_at, default=None)

    def save(self, record: Record) -> None:
        """Keep a record, in the place of one of the same session and store. Raises InvalidSettings."""
        path = self._path(record.agent, record.store, record.native_id)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, prefix=".")
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(record))
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except OSError as error:
            why = error.strerror or "no reason given"
            raise InvalidSettings(f"{self._folder} cannot be written to ({why}): set TASUKI_DATA_DIR to one that can.") from None

    def remove(self, record: Record) -> None:
        """Forget a record."""
        self._path(record.agent, record.store, record.native_id).unlink(missing_ok=True)

    def _all(self) -> Iterator[Record]:
        for path in sorted(self._folder.glob("*.json")):
            if record := self._read(path):
                yield record

    def _read(self, path: Path) -> Record | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=Record)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _path(self, agent: str, store: str, native_id: str) -> Path:
        name = sha256("\0".join((agent, store, native_id)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._folder / f"{agent}-{name}.json"


def now() -> str:
    """The time, as a record has it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
