"""Export a session: read it whole, write it in an agent's own format, give the files with the mapping report.

One export holds the session as values while it is converted, several times its size in the log: so there is a limit, and few
are made at once. The conversion runs in a thread.
"""

import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.to_thread

from adapters import registry
from adapters.conversion import Json
from adapters.departure import File, files_of, linked, meta_out, name_out
from adapters.session import Session
from adapters.target import Target
from eventstore.db import Database
from eventstore.entries import entries
from eventstore.errors import SessionDeleted, TooLarge
from eventstore.read import Reader
from eventstore.settings import Settings
from eventstore.views import RELATED_MAX, subagents
from eventstore.wire.codec import dump, parse, quote

PIECE_CHARS = 256 * 1024
MORE_SUBAGENTS = f"sub-agents after the first {RELATED_MAX}, if there are more: export each by itself"


@dataclass
class Gathered:
    """A session as the log has it. `entries` are JSON texts in order; `purged` how many there were that are gone."""

    session_id: str
    meta: Json
    ancestors: list[Json]
    entries: list[bytes] = field(default_factory=list)
    head_seq: int = 0
    purged: int = 0


class Exporter:
    """Makes exports, for one server process. `turns` keeps conversions that run at once to a few."""

    def __init__(self, settings: Settings, database: Database, reader: Reader, turns: anyio.CapacityLimiter) -> None:
        self._settings, self._database, self._reader, self._turns = settings, database, reader, turns

    async def export(self, session_id: str, agent: str, target: Target, log_id: str) -> list[bytes]:
        """Return the answer, a JSON object in pieces: `{session_id, agent, version, native_session_id, head_seq, purged, left_out,
        report, subagents: [{session_id, native_session_id, report}], log_id, files: [{name, content} or {name, content_base64}]}`.

        The files of the sub-agents that the session started come after its own; those of theirs are in their own exports.
        Raises UnknownAgent, UnknownVersion, NotConverted, SessionNotFound, SessionDeleted, TooLarge.
        """
        registry.check_target(agent)
        async with self._turns:
            row = await self._reader.session_row(session_id)
            if row["deleted_seq"] is not None:
                raise SessionDeleted(session_id=session_id)
            started = await subagents(self._database, row)
            gathered = await self._gather([session_id, *(child for child, _, _ in started)])
            target = replace(target, now_ms=time.time_ns() // 1_000_000)
            more = [MORE_SUBAGENTS] if len(started) == RELATED_MAX else []
            return await anyio.to_thread.run_sync(_answer, gathered, agent, target, log_id, more)

    async def _gather(self, session_ids: Sequence[str]) -> list[Gathered]:
        """Read sessions whole. Raises TooLarge when they are together."""
        limit = left = self._settings.export_bytes_max
        gathered: list[Gathered] = []
        for session_id in session_ids:
            one = Gathered(session_id, *await self._metas(session_id))
            async for page in entries(self._database, await self._reader.find(session_id)):
                left -= sum(len(entry) for _, entry in page if entry is not None)
                if left < 0:
                    raise TooLarge(
                        f"The session is larger than {limit} bytes, too much for one export. Take it with `tasuki pull`.",
                        limit="export_bytes_max",
                        value=limit,
                    )
                one.entries += [entry for _, entry in page if entry is not None]
                one.purged += sum(entry is None for _, entry in page)
                one.head_seq = page[-1][0]
            gathered.append(one)
        return gathered

    async def _metas(self, session_id: str) -> tuple[Json, list[Json]]:
        """What a session says of itself, and its ancestors, nearest first; one that is deleted says nothing any more."""
        row = await self._reader.session_row(session_id)
        ancestors = await self._database.call("list_ancestors", session_no=row["session_no"]) if row["parent_no"] else []
        rows = [await self._reader.session_row(name) for name, *_, is_deleted in ancestors if not is_deleted]
        told = [parse(one["meta"].decode()) for one in (row, *rows)]
        return told[0], told[1:]


def _answer(gathered: list[Gathered], agent: str, target: Target, log_id: str, more: list[str]) -> list[bytes]:
    session, *children = map(_session, gathered)
    children = [linked(child, one.session_id) for child, one in zip(children, gathered[1:], strict=True)]
    target = replace(target, session_id=name_out(gathered[0].session_id, gathered[0].meta, gathered[0].ancestors))
    written = registry.write(agent, session, target, children)
    del session, children  # what is large is let go of as soon as it has become something else
    files, left_out = files_of(written)
    started = zip(gathered[1:], written.subagents, strict=True)
    known: dict[str, Any] = {
        "session_id": gathered[0].session_id,
        "agent": written.agent,
        "version": written.version,
        "native_session_id": written.session_id,
        "head_seq": gathered[0].head_seq,
        "purged": sum(one.purged for one in gathered),
        "left_out": more + left_out,
        "report": written.report,
        "subagents": [
            {"session_id": one.session_id, "native_session_id": child.session_id, "report": child.report} for one, child in started
        ],
        "log_id": log_id,
    }
    return [dump(known)[:-1].encode() + b',"files":[', *_listed(files), b"]}"]


def _session(gathered: Gathered) -> Session:
    """The session's values; the texts are let go of as they are read."""
    texts = gathered.entries[::-1]
    gathered.entries = []
    return Session(meta_out(gathered.meta, gathered.ancestors), tuple(parse(texts.pop().decode()) for _ in range(len(texts))))


def _listed(files: Sequence[File]) -> Iterator[bytes]:
    """The files as JSON objects, in pieces."""
    for number, (name, content) in enumerate(files):
        yield (b"," if number else b"") + b'{"name":' + quote(name).encode()
        try:
            text = content.decode()
        except UnicodeDecodeError:
            yield b',"content_base64":"%b"}' % b64encode(content)
            continue
        yield b',"content":"'
        for start in range(0, len(text), PIECE_CHARS):
            yield quote(text[start : start + PIECE_CHARS])[1:-1].encode()
        yield b'"}'
