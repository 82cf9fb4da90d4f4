"""Convert line by line: sessions whose files are lines, so that one larger than the memory is converted too.

Claude Code's transcripts and `messages` files are read so, and written so. What goes home to Claude Code waits on disk (`Spool`)
for its place in the file; what other agents said is in memory, and so is half a kilobyte for each line.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from adapters.claude_code import reader as claude_code
from adapters.claude_code import writer as claude_code_writer
from adapters.claude_code.side_files import FOLDER, natives_of, told_in
from adapters.messages import reader as messages
from adapters.messages import stream as messages_writer
from adapters.registry import check
from adapters.session import Session, as_it_came, is_message, native_of
from adapters.target import Target
from cli.cleaning import Cleaner
from cli.drafts import Drafts
from cli.spool import Spool
from cli.stores import CLAUDE_CODE, NoSuchFile, Source, link_of, subagents_of
from cli.stores_claude_code import side_files
from eventstore.wire.codec import dump

Json = dict[str, Any]
MESSAGES = "messages"
LINES = (CLAUDE_CODE, MESSAGES)
Reading = claude_code.Reading | messages.Reading


@dataclass(frozen=True, slots=True)
class Converted:
    """A session that was converted, and its mapping reports. `left_out`: what the container cannot hold."""

    session_id: str
    read: Json
    written: Json
    left_out: tuple[str, ...] = ()


def convert_lines(source: Source, agent: str, output: Path, target: Target, cleaner: Cleaner) -> list[Converted]:
    """Convert a file, and those of its sub-agents into a folder beside it. Either all of them are in place then, or none.

    Raises NoSuchFile, NotConverted, UnknownVersion.
    """
    with Drafts() as drafts:
        run = _Run(agent, output, target, cleaner, drafts)
        run.one(source, {})
        for child in subagents_of(source, run.native_id):
            run.one(child, run.call_ids)
        drafts.put()
        return run.done


class _Lines:
    """A file's lines, from the first whenever it is iterated: of the file that was opened, whatever its name means by now."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        return iter(self._file)


class _Run:
    """One run: the first session, then its sub-agents'."""

    def __init__(self, agent: str, output: Path, target: Target, cleaner: Cleaner, drafts: Drafts) -> None:
        self._agent, self._output, self._target = agent, output, target
        self._cleaner, self._drafts = cleaner, drafts
        self._first: claude_code_writer.Writing | None = None
        self.call_ids: Mapping[str, str] = {}
        self.native_id = ""
        self.done: list[Converted] = []

    def one(self, source: Source, call_ids: Mapping[str, str]) -> None:
        """Write the draft of a session."""
        with _opened(source, call_ids) as reading:
            files = side_files(source) if source.agent == CLAUDE_CODE else []
            entries = map(as_it_came, chain(reading.entries(), natives_of(files, reading.version, 1)))
            if self._agent == MESSAGES:
                session_id, written = self._to_messages(reading, entries)
            else:
                session_id, written = self._to_claude_code(reading, entries)
            if not self.done:
                self.call_ids, self.native_id = reading.subagents, _native_id(reading.meta)
            self.done.append(Converted(session_id, told_in(reading.report(), files), written))

    def _to_messages(self, reading: Reading, entries: Iterable[Json]) -> tuple[str, Json]:
        session_id = (not self.done and self._target.session_id) or _native_id(reading.meta)
        writing = messages_writer.Writing(reading.meta, reading.header)
        self._drafts.write(self._place(session_id), writing.pieces(self._cleaner.clean(entries)))
        return session_id, writing.report()

    def _to_claude_code(self, reading: Reading, entries: Iterable[Json]) -> tuple[str, Json]:
        is_home = True
        with Spool() as spool:
            for entry in spool.fill(self._cleaner.clean(entries)):
                is_home = is_home and (not is_message(entry) or native_of(entry, CLAUDE_CODE) is not None)
            session = Session(reading.meta, spool, reading.header)
            writing = claude_code_writer.Writing(session, self._target, self._first)
            self._first = self._first or writing
            place = self._place(writing.session_id)
            draft = self._drafts.write(place, writing.pieces())
            if not (is_home and len(spool)):
                with draft.open("rb") as lines:
                    check(CLAUDE_CODE, lines, session, self._target)
        for path, content in writing.beside:
            self._drafts.write(place.with_suffix("") / FOLDER / path.rpartition("/")[2], [content])
        if writing.sidecar and len(self.done):
            self._drafts.write(place.with_suffix(".meta.json"), [dump(writing.sidecar).encode()])
        return writing.session_id, writing.report()

    def _place(self, session_id: str) -> Path:
        return self._output.with_suffix("") / f"{session_id}.jsonl" if self.done else self._output


@contextmanager
def _opened(source: Source, call_ids: Mapping[str, str]) -> Iterator[Reading]:
    try:
        file = source.path.open("rb")
    except OSError as error:
        raise NoSuchFile(f"{source.path} cannot be read: {error.strerror or 'no reason given'}.") from None
    with file:
        if source.agent == MESSAGES:
            yield messages.Reading(_Lines(file))
        else:
            yield claude_code.Reading(_Lines(file), link_of(source, call_ids))


def _native_id(meta: Json) -> str:
    told = meta.get("native_session_id")
    return told if isinstance(told, str) else ""
