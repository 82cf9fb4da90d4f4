"""Append: what one event is before it has a seq, and what became of it.

Only redacted text gets in: the types of `NewEvent` take nothing else.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from eventstore.errors import (
    AppendIdReused,
    Internal,
    MetaMoved,
    SeqConflict,
    SessionDeleted,
    SessionNotFound,
    StoreError,
    TooLarge,
)
from eventstore.redact import Redacted

_ERROR_OF_REFUSAL: dict[str, type[StoreError]] = {
    error.code: error for error in (AppendIdReused, SessionNotFound, SessionDeleted, SeqConflict, MetaMoved, TooLarge)
}
_HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append. `new_id` is the session it creates; `session_id` the one it goes to, or is forked from."""

    kind: str
    session_id: str | None
    append_id: str
    append_key: bytes
    body_hash: bytes
    body: Redacted | None  # None: too large to be kept, only whether it is a repeat is wanted
    new_id: str | None = None
    role: str | None = None
    native: Redacted | None = None
    meta: Redacted | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    said_at: datetime | None = None
    version: int = 1  # of the payload's schema

    @property
    def size_bytes(self) -> int:
        """About what it takes on its way to the database."""
        size = 200 + (len(self.body.text) if self.body else 0)
        return size + (len(self.native.text) if self.native else 0) + (len(self.meta.text) if self.meta else 0)


@dataclass(frozen=True, slots=True)
class Appended:
    """Where an event stands in the log; `duplicate`: it stood there before."""

    seq: int
    duplicate: bool
    append_id: str


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit wrote: events and their seqs, in order and without a hole; at least one."""

    written: list[tuple[int, NewEvent]]

    @property
    def first_seq(self) -> int:
        return self.written[0][0]

    @property
    def last_seq(self) -> int:
        return self.written[-1][0]

    def by_session(self) -> dict[str, list[tuple[int, NewEvent]]]:
        """Return the events of each session that was there before."""
        found: dict[str, list[tuple[int, NewEvent]]] = {}
        for seq, event in self.written:
            if event.session_id:
                found.setdefault(event.session_id, []).append((seq, event))
        return found


@dataclass(frozen=True, slots=True)
class AppendRequest:
    """Events that are appended all or none. `expected_meta` is the seq at which the session's meta was last set."""

    events: list[NewEvent]
    writer_no: int
    expected_head: int | None = None
    expected_meta: int | None = None

    @property
    def size_bytes(self) -> int:
        return sum([event.size_bytes for event in self.events])

    @property
    def looks_at_session(self) -> bool:
        """Whether its outcome depends on more of the session than that it exists."""
        return (
            self.expected_head is not None
            or self.expected_meta is not None
            or any(event.kind != "message.appended" for event in self.events)
        )


def append_key(scope: str, append_id: str) -> bytes:
    """Return the 16 bytes by which a repeat is found: 6 of where the id is unique, so that a session's keys lie together,
    and 10 of the id."""
    return hashlib.sha256(scope.encode()).digest()[:6] + hashlib.sha256(append_id.encode()).digest()[:10]


def body_hash(hash_key: bytes, canonical: str) -> bytes:
    """Return the keyed hash by which a repeat is told from another body under the same id."""
    return hmac.digest(hash_key, canonical.encode(), "sha256")[:_HASH_BYTES]


def batch_arguments(requests: list[AppendRequest]) -> dict[str, Any]:
    """Return the arguments of `append_events`: parallel arrays, an item for each event."""
    pairs = [(number, request, event) for number, request in enumerate(requests, 1) for event in request.events]
    events = [event for _, _, event in pairs]
    return {
        "requests": [number for number, _, _ in pairs],
        "session_ids": [e.session_id for e in events],
        "new_ids": [e.new_id for e in events],
        "kinds": [e.kind for e in events],
        "roles": [e.role for e in events],
        "append_ids": [e.append_id for e in events],
        "append_keys": [e.append_key for e in events],
        "body_hashes": [e.body_hash for e in events],
        "bodies": [_bytes(e.body) for e in events],
        "natives": [_bytes(e.native) for e in events],
        "metas": [_bytes(e.meta) for e in events],
        "facts": [_facts(e) for e in events],
        "said_ats": [e.said_at for e in events],
        "writer_nos": [request.writer_no for _, request, _ in pairs],
        "versions": [e.version for e in events],
        "expected_heads": [request.expected_head for _, request, _ in pairs],
        "expected_metas": [request.expected_meta for _, request, _ in pairs],
    }


def is_lone_message(requests: list[AppendRequest]) -> bool:
    """Whether these are one new message alone, of which nothing is asked but that its session is there."""
    return (
        len(requests) == 1
        and len(requests[0].events) == 1
        and not requests[0].looks_at_session
        and requests[0].events[0].body is not None
    )


def message_arguments(request: AppendRequest) -> dict[str, Any]:
    """Return the arguments of `append_message`."""
    (e,) = request.events
    return {
        "session_id": e.session_id,
        "role": e.role,
        "append_id": e.append_id,
        "append_key": e.append_key,
        "body_hash": e.body_hash,
        "body": _bytes(e.body),
        "native": _bytes(e.native),
        "facts": _facts(e),
        "said_at": e.said_at,
        "writer_no": request.writer_no,
        "version": e.version,
    }


def outcomes(requests: list[AppendRequest], rows: list[tuple[Any, ...]]) -> list[list[Appended] | StoreError]:
    """Return what became of each request, from the rows of `append_events`."""
    results: list[list[Appended] | StoreError] = []
    at = 0
    for request in requests:
        own = rows[at : at + len(request.events)]
        at += len(own)
        refusal = next((index for index, row in enumerate(own) if row[3]), None)
        if refusal is not None:
            results.append(_refused(request, refusal, own[refusal]))
        else:
            results.append([Appended(row[1], row[2], e.append_id) for e, row in zip(request.events, own, strict=True)])
    return results


def _refused(request: AppendRequest, index: int, row: tuple[Any, ...]) -> StoreError:
    _, seq, _, reason, head_seq = row[:5]
    event = request.events[index]
    error = _ERROR_OF_REFUSAL.get(reason, Internal)
    if error is AppendIdReused:
        return AppendIdReused(
            f"append_id {event.append_id!a} was used before, for the event with seq {seq}, with another body. Use a new id.",
            append_id=event.append_id,
            seq=seq,
            index=index,
        )
    if error is SeqConflict:
        return SeqConflict(
            f"expected_seq is {request.expected_head}, the session's head is {head_seq}. Read on from there, then decide anew.",
            head_seq=head_seq,
        )
    if error is TooLarge:
        return TooLarge(f"Item {index} is larger than a message may be.", limit="message_bytes_max", index=index)
    return error(session_id=event.session_id, index=index)


def commit_of(requests: list[AppendRequest], rows: list[tuple[Any, ...]]) -> Commit:
    """Return what was written, from the rows of `append_events`: neither repeats nor what was refused."""
    events = [event for request in requests for event in request.events]
    return Commit([(row[1], event) for event, row in zip(events, rows, strict=True) if row[1] and not row[2]])


def _facts(event: NewEvent) -> str:
    return json.dumps(event.facts) if event.facts else "{}"


def _bytes(redacted: Redacted | None) -> bytes | None:
    return None if redacted is None else redacted.text.encode()
