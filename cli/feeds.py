"""Feeds: what is new of one session of an agent on this host, since the last look, without reading again what was read.

A file is read on from the byte where the last look ended; a line whose end is not written yet waits. Where the file was replaced,
cut, or written over, it is read from its beginning. Databases: `feeds_database`. An agent that keeps files of lines needs no more
than its reader.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Protocol

from adapters.arrival import starter_of
from adapters.claude_code.running import Running
from adapters.conversion import Conversion, Message, NativeRecords
from cli.feeds_database import ROWS
from cli.source import Source
from cli.stores import CLAUDE_CODE, Loaded, as_loaded, link_of, load, loaded_of
from cli.zstd_frames import is_compressed

TAIL_BYTES = 256  # compared, to see whether what was read before stands where it stood


class Feed(Protocol):
    """One session. `look` returns it when it changed, else None; `at_rest` as it is, with the records that wait while it runs.

    Both raise OSError, NoSuchFile, UnreadableContainer.
    """

    def look(self) -> Loaded | None: ...

    def at_rest(self) -> Loaded: ...


def feed_of(source: Source, call_ids: Mapping[str, str]) -> Feed:
    """Return the feed of a session. `call_ids`: which call of the parent started which sub-agent."""
    if source.session_id:
        return WholeFeed(source) if source.path.is_dir() else DatabaseFeed(source)
    return WholeFeed(source) if is_compressed(source.path) else LinesFeed(source, call_ids)


class LinesFeed:
    """A file of lines."""

    def __init__(self, source: Source, call_ids: Mapping[str, str]) -> None:
        self._source, self._call_ids = source, call_ids
        self._running: Running | None = None
        self._newest: Loaded | None = None
        self._lines: list[bytes] = []
        self._offset = 0  # of the first byte that is not in a whole line that was read
        self._tail = b""  # the bytes right before it
        self._seen: tuple[int, int, int] | None = None  # inode, size, time of change

    def look(self) -> Loaded | None:
        with self._source.path.open("rb") as file:
            told = os.fstat(file.fileno())
            seen, before = (told.st_ino, told.st_size, told.st_mtime_ns), self._seen
            if seen == before:
                return None
            self._seen = seen
            is_other = before is None or before[0] != told.st_ino or not self._stands(file)
            if is_other:
                self._lines, self._offset, self._tail = [], 0, b""
                self._running = Running(link_of(self._source, self._call_ids)) if self._source.agent == CLAUDE_CODE else None
            file.seek(self._offset)
            read = file.read()
        whole = read[: read.rfind(b"\n") + 1]
        if not whole and not is_other:
            return None
        new = [line + b"\n" for line in whole.split(b"\n")[:-1]]
        self._lines += new
        self._offset += len(whole)
        self._tail = (self._tail + whole)[-TAIL_BYTES:]
        if self._running is None:
            self._newest = loaded_of(self._source, self._lines, self._call_ids, is_final=False)
        else:
            self._running.add(new)
            self._newest = as_loaded(self._source, self._running.conversion(self._lines), self._lines)
        return self._newest

    def at_rest(self) -> Loaded:
        final = loaded_of(self._source, self._lines, self._call_ids)
        return rested(self._newest or final, final)

    def _stands(self, file: BinaryIO) -> bool:
        """Does what was read before stand where it stood?"""
        file.seek(self._offset - len(self._tail))
        return file.read(len(self._tail)) == self._tail


class DatabaseFeed:
    """A session of a database, read on by row numbers and times of change."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows = ROWS[source.agent](source.path, source.session_id)
        self._seen: tuple[tuple[int, int], ...] | None = None

    def look(self) -> Loaded | None:
        path = self._source.path
        seen = tuple(map(_state_of, (path, path.with_name(f"{path.name}-wal"))))
        if seen == self._seen:
            return None
        is_changed = self._rows.read_on()
        self._seen = seen
        return self._loaded(is_final=False) if is_changed else None

    def at_rest(self) -> Loaded:
        return rested(self._loaded(is_final=False), self._loaded(is_final=True))

    def _loaded(self, *, is_final: bool) -> Loaded:
        conversion: Conversion = self._rows.convert(is_final=is_final)
        return Loaded(self._source, self._source.session_id, starter_of(conversion), conversion)


class WholeFeed:
    """What can only be read whole: a tree of many files, or a compressed log."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: tuple[int, int] | None = None

    def look(self) -> Loaded | None:
        seen = _newest(self._source)
        if seen == self._seen:
            return None
        self._seen = seen
        return load(self._source, is_final=False)

    def at_rest(self) -> Loaded:
        return rested(load(self._source, is_final=False), load(self._source))


def rested(running: Loaded, final: Loaded) -> Loaded:
    """The messages that are said to their end, and all native records."""
    entries: tuple[Message | NativeRecords, ...] = (*running.conversion.messages, *final.conversion.natives)
    return replace(final, conversion=replace(final.conversion, entries=entries))


def _state_of(path: Path) -> tuple[int, int]:
    try:
        told = path.stat()
    except OSError:
        return -1, 0
    return told.st_size, told.st_mtime_ns


def _newest(source: Source) -> tuple[int, int]:
    """The state of a file; of a session of a tree, how many files it has, and when the newest was changed."""
    if not source.session_id:
        return _state_of(source.path)
    storage = source.path / "storage" if (source.path / "storage").is_dir() else source.path
    messages = [*storage.glob(f"message/{source.session_id}/*.json")]
    files = [*messages, *storage.glob(f"session/*/{source.session_id}.json")]
    files += (part for message in messages for part in storage.glob(f"part/{message.stem}/*.json"))
    return len(files), max((_state_of(file)[1] for file in files), default=0)
