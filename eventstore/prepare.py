"""Prepare: what every path into the log goes through: limits, redaction, the hash that tells a repeat, the answer.

A repeat gives the first answer again, so answers are made of what stands in the log, never of what was just sent.
"""

import json
from dataclasses import dataclass
from typing import Any

import anyio.to_thread

from eventstore.access import Principal
from eventstore.append import Appended, AppendRequest, NewEvent, append_key, body_hash
from eventstore.committer import Committer
from eventstore.db import Database
from eventstore.errors import TooLarge
from eventstore.read import Reader
from eventstore.redact import NOTHING, Exempt, Redacted, Redactor
from eventstore.settings import Settings
from eventstore.wire.requests import Body

_IN_THREAD_CHARS = 64 * 1024
_CHAR_BYTES_MAX = 4  # in UTF-8


@dataclass(frozen=True, slots=True)
class Written:
    """An answer, and whether nothing was written since it all stood there before. `dump` of the codec encodes it."""

    answer: dict[str, Any]
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Stored:
    """An event as it stands in the log, with what was derived at its append."""

    session_id: str
    kind: str
    body: bytes
    meta: bytes | None
    facts: dict[str, Any]


class Writer:
    """What writing needs, in one server process. `hash_key` is the log's secret for telling bodies apart."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        reader: Reader,
        committer: Committer,
        redactor: Redactor,
        hash_key: bytes,
    ) -> None:
        self.settings, self.reader = settings, reader
        self._database, self._committer, self._redactor, self._hash_key = database, committer, redactor, hash_key

    async def append(
        self, who: Principal, events: list[NewEvent], expected_head: int | None = None, expected_meta: int | None = None
    ) -> list[Appended]:
        """Append events, all or none."""
        return await self._committer.submit(AppendRequest(events, who.token_no, expected_head, expected_meta))

    def identity(self, scope: str, body: Body, append_id: str) -> dict[str, Any]:
        """Return what makes an event the same as another one: its key and its body's hash. `scope`: where the id is unique."""
        return {
            "append_id": append_id,
            "append_key": append_key(scope, append_id),
            "body_hash": self.hash(body.canonical),
        }

    def hash(self, canonical: str) -> bytes:
        """Return the keyed hash of a body as it was sent."""
        return body_hash(self._hash_key, canonical)

    async def clean(self, text: str, exempt: Exempt = NOTHING) -> Redacted:
        """Return a JSON text without the secrets that the rules know. Long ones are cleaned in a thread."""
        if len(text) < _IN_THREAD_CHARS:
            return self._redactor.clean(text, exempt)
        return await anyio.to_thread.run_sync(self._redactor.clean, text, exempt)

    async def meta(self, text: str, what: str = "meta") -> Redacted:
        """Return a session's or snapshot's meta, or what else is said of one, cleaned. Raises TooLarge."""
        limit = self.settings.meta_bytes_max
        if len(text.encode()) > limit:
            raise TooLarge(f"{what} is larger than {limit} bytes.", limit="meta_bytes_max", value=limit)
        return await self.clean(text)

    def is_too_large(self, text: str) -> bool:
        """Whether a message's text is over the limit for one message."""
        limit = self.settings.message_bytes_max
        return len(text) > limit or (len(text) * _CHAR_BYTES_MAX > limit and len(text.encode()) > limit)

    async def stored(self, seq: int) -> Stored:
        """Return the event with this seq, which is known to be there."""
        session_id, kind, _, body, meta, facts, _ = (await self._database.call("read_event", seq=seq))[0]
        return Stored(session_id, kind, body, meta, json.loads(facts))


def members(sources: dict[str, str]) -> str:
    """Return a JSON object of names and the source texts of their values."""
    return "{" + ",".join(f'"{name}":{source}' for name, source in sources.items()) + "}"


def meta_source(body: Body) -> str | None:
    """Return the text of a body's `meta`, None where it is absent or null."""
    return body.document.source("meta") if body.document.fields.get("meta") is not None else None


def written(answer: dict[str, Any], duplicate: bool, hits: dict[str, int]) -> Written:
    """Return an answer; what was redacted is counted in the one that wrote it."""
    more: dict[str, Any] = {"duplicate": duplicate}
    if hits and not duplicate:
        more["redactions"] = hits
    return Written(answer | more, duplicate)


def add_hits(*several: Any) -> dict[str, int]:
    """Return how often each rule hit, over several texts."""
    total: dict[str, int] = {}
    for hits in several:
        for rule, count in hits.items():
            total[rule] = total.get(rule, 0) + count
    return total
