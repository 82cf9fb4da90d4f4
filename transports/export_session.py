"""Export a session: read it whole, write it in an agent's own format, give the files with the mapping report.

One export holds the session as values while it is converted, several times its size in the log: so there is a limit, and few
are made at once. The conversion runs in a thread.
"""

import re
import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.to_thread

from adapters import registry
from adapters.session import Session
from adapters.target import Target
from adapters.written import Written
from eventstore.db import Database
from eventstore.entries import entries
from eventstore.errors import SessionDeleted, TooLarge
from eventstore.read import Reader
from eventstore.settings import Settings
from eventstore.wire.codec import dump, parse, quote

PIECE_CHARS = 256 * 1024
_OF_PUSH = frozenset({"pushed"})  # how far `tasuki push` has come: says nothing outside this hub
_unsafe = re.compile(r"[^A-Za-z0-9._-]")


@dataclass
class Gathered:
    """A session as the log has it. `entries` are JSON texts in order; `purged` how many there were that are gone."""

    session_id: str
    meta: str
    entries: list[bytes] = field(default_factory=list)
    head_seq: int = 0
    purged: int = 0
    bytes: int = 0


class Exporter:
    """Makes exports, for one server process. `turns` keeps conversions that run at once to a few."""

    def __init__(self, settings: Settings, database: Database, reader: Reader, turns: anyio.CapacityLimiter) -> None:
        self._settings, self._database, self._reader, self._turns = settings, database, reader, turns

    async def export(self, session_id: str, agent: str, target: Target, log_id: str) -> list[bytes]:
        """Return the answer, a JSON object in pieces: `{session_id, agent, version, native_session_id, head_seq, purged, left_out,
        report, log_id, files: [{name, content} or {name, content_base64}]}`.

        Raises UnknownAgent, UnknownVersion, NotConverted, SessionNotFound, SessionDeleted, TooLarge.
        """
        registry.check_target(agent)
        async with self._turns:
            gathered = await self._gather(session_id)
            target = replace(target, now_ms=time.time_ns() // 1_000_000)
            return await anyio.to_thread.run_sync(_answer, gathered, agent, target, log_id)

    async def _gather(self, session_id: str) -> Gathered:
        row = await self._reader.session_row(session_id)
        if row["deleted_seq"] is not None:
            raise SessionDeleted(session_id=session_id)
        gathered = Gathered(session_id, row["meta"].decode())
        limit = self._settings.export_bytes_max
        async for page in entries(self._database, await self._reader.find(session_id)):
            gathered.bytes += sum(len(entry) for _, entry in page if entry is not None)
            if gathered.bytes > limit:
                raise TooLarge(
                    f"The session is larger than {limit} bytes, too much for one export. Take it from the hub with `tasuki pull`.",
                    limit="export_bytes_max",
                    value=limit,
                )
            gathered.entries += [entry for _, entry in page if entry is not None]
            gathered.purged += sum(entry is None for _, entry in page)
            gathered.head_seq = page[-1][0]
        return gathered


def _answer(gathered: Gathered, agent: str, target: Target, log_id: str) -> list[bytes]:
    written = registry.write(agent, _session(gathered), target)
    files, left_out = _files(written)
    known: dict[str, Any] = {
        "session_id": gathered.session_id,
        "agent": written.agent,
        "version": written.version,
        "native_session_id": written.session_id,
        "head_seq": gathered.head_seq,
        "purged": gathered.purged,
        "left_out": left_out,
        "report": written.report,
        "log_id": log_id,
    }
    return [dump(known)[:-1].encode() + b',"files":[', *_listed(files), b"]}"]


def _session(gathered: Gathered) -> Session:
    """The session's values; the texts are let go of as they are read."""
    meta = {name: value for name, value in parse(gathered.meta).items() if name not in _OF_PUSH}
    texts = gathered.entries[::-1]
    gathered.entries = []
    return Session(meta, tuple(parse(texts.pop().decode()) for _ in range(len(texts))))


def _files(written: Written) -> tuple[list[tuple[str, bytes]], list[str]]:
    """The files of a session and of its sub-agents, and what they cannot hold."""
    writer = registry.WRITERS[written.agent]
    content, left_out = writer.file(written.records)
    name = _name(written, writer.suffix)
    files = [(name, content)]
    if written.sidecar is not None:
        files.append((name.removesuffix(f".{writer.suffix}") + ".meta.json", dump(written.sidecar).encode()))
    for child in written.subagents:
        more, lost = _files(child)
        files += more
        left_out = left_out + lost
    return files, left_out


def _name(written: Written, suffix: str) -> str:
    """Where the file belongs, below the agent's own folder; never outside it, whatever the session says its id is."""
    steps = [
        _unsafe.sub("_", step).lstrip(".")
        for step in (written.path or f"{written.session_id[:100] or 'session'}.{suffix}").split("/")
    ]
    return "/".join(step or "_" for step in steps)


def _listed(files: Sequence[tuple[str, bytes]]) -> Iterator[bytes]:
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
