"""Access: who calls, by token; what a token may do. A token is kept as its SHA-256 and looked up again every few seconds."""

import contextlib
import hashlib
import os
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread

from eventstore.db import Database
from eventstore.errors import ReadOnlyReplica, Unauthorized
from eventstore.sharing import SingleFlight

TOKEN_PREFIX = "tsk_"  # noqa: S105  # not a secret: what every token begins with, so that redaction knows one
_KNOWN_S = 5.0
_KNOWN_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling: the token's number and its scope."""

    token_no: int
    scope: str
    client: str = ""


class Access:
    """Tells callers by their token, for one server process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()
        self._lookups: SingleFlight[list[tuple[Any, ...]]] = SingleFlight()

    async def principal(self, token: str) -> Principal:
        """Return who calls with this token. Raises Unauthorized: unknown or revoked."""
        digest = hash_token(token)
        known = self._known.get(digest)
        if known and time.monotonic() - known[0] < _KNOWN_S:
            return known[1]
        if known:  # one caller looks again; who comes meanwhile goes by what was known, instead of thousands asking at once
            self._known[digest] = (time.monotonic(), known[1])
        try:
            rows = await self._lookups.share(digest, lambda: self._database.call("find_token", token_hash=digest))
        except BaseException:
            self._known.pop(digest, None)
            raise
        if not rows:
            self._known.pop(digest, None)
            raise Unauthorized("The hub does not know this token, or it was revoked.")
        principal = Principal(rows[0][0], rows[0][1])
        self._known[digest] = (time.monotonic(), principal)
        if len(self._known) > _KNOWN_MAX:
            self._known.popitem(last=False)
        return principal

    async def ensure_admin_token(self, path: Path) -> None:
        """Let the token in the file at `path` administer this hub; on the first start, make both.

        A replica knows the tokens of its primary and no others.
        """
        token = await anyio.to_thread.run_sync(_token_in, path)
        with contextlib.suppress(ReadOnlyReplica):
            await self._database.call(
                "add_token", token_hash=hash_token(token), scope="admin", project_id=None, label="made by the hub"
            )


def _token_in(path: Path) -> str:
    """The token in a file of mode 0600, made where there is none. Processes that start together agree on one: the file is put
    in place whole, and only where none is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(new_token() + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_text("ascii").strip()


def new_token() -> str:
    """Return a new token: 256 bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> bytes:
    """Return what is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
