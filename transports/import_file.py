"""Import a file: an agent's session goes into the hub, once, however often it is brought.

1. Names and append ids are the agent's own or made of what the file says (`adapters/arrival`), as push makes them: what was pushed
   is known to an import, and the other way round.
2. The file is read, and checked against every limit, in a thread, before anything is written.
3. It is written by the same functions as any append, so nothing gets past redaction. Requests of it stand alone: where the
   database goes away in between, importing again goes on from there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby, islice

import anyio
import anyio.to_thread

from adapters import arrival, registry
from adapters.conversion import Conversion, Json, Message, NativeRecords
from eventstore import messages, sessions
from eventstore.access import Principal
from eventstore.errors import AppendIdReused, SessionDeleted, StoreError, TooLarge
from eventstore.prepare import Writer, Written, add_hits
from eventstore.read import Reader, SessionRef
from eventstore.settings import Settings
from eventstore.wire.codec import canonical, dump, parse, parse_object
from eventstore.wire.message import check_message

REQUEST_BYTES = 1024 * 1024  # what is parsed at once between the turns of others
_DATABASE = b"SQLite format 3\0"
_OTHERS = (
    "the hub's session holds {} messages that are not in the file: said elsewhere, or no longer on its live branch (a rewind, a"
    " compaction)"
)


@dataclass(frozen=True, slots=True)
class Request:
    """One append: messages, all or none, or native records. `lines` says where each stood in the file."""

    text: str
    lines: tuple[int, ...]
    is_native: bool


@dataclass(frozen=True, slots=True)
class Read:
    """A file as it goes in."""

    creation: Json
    meta: Json
    requests: list[Request]
    told: Json  # what the answer says of the file
    messages: int


class Importer:
    """Brings files in, for one server process. `turns` keeps conversions that run at once to a few."""

    def __init__(self, settings: Settings, writer: Writer, reader: Reader, turns: anyio.CapacityLimiter) -> None:
        self._settings, self._writer, self._reader, self._turns = settings, writer, reader, turns

    async def import_file(self, who: Principal, raw: bytes, agent: str | None, project_id: str) -> Written:
        """Bring one session in. `agent`: who wrote the file, None: told by its content.

        The answer: `{session_id, project_id, agent, version, native_session_id, created, found, appended, repeated, native, notes,
        head_seq, report}`, found = appended + repeated + native. Raises UnsupportedFormat, UnknownAgent, TooLarge (nothing was
        written), AppendIdReused, SessionDeleted, and what an append raises.
        """
        async with self._turns:
            read = await anyio.to_thread.run_sync(read_file, raw, agent, project_id, self._settings)
        del raw
        created = await sessions.create_session(self._writer, who, dump(read.creation))
        ref = await self._reader.find(created.answer["session_id"])
        if created.duplicate:
            await self._check_there(ref)
        arriving = _Arriving(self._writer, who, ref)
        await self._set_meta(arriving, read)
        for request in read.requests:
            await arriving.append(request)
        row = await self._reader.session_row(ref.session_id)
        others = row["message_count"] - read.messages
        answer = {"session_id": ref.session_id, "project_id": ref.project_id, **read.told, "created": not created.duplicate}
        answer |= arriving.counts | {"notes": [_OTHERS.format(others)] if others > 0 else [], "head_seq": row["head_seq"]}
        if arriving.hits:
            answer["redactions"] = arriving.hits
        is_repeat = created.duplicate and not arriving.has_written
        return Written(answer | {"duplicate": is_repeat, "report": answer.pop("report")}, is_repeat)

    async def _check_there(self, ref: SessionRef) -> None:
        if (await self._reader.session_row(ref.session_id))["deleted_seq"] is not None:
            raise SessionDeleted(
                "This session was imported before, and deleted. Import it into another project.", session_id=ref.session_id
            )

    async def _set_meta(self, arriving: "_Arriving", read: Read) -> None:
        """Let the session's meta say what the file says; where it does already, nothing is written."""
        ref = arriving.ref
        before = parse((await self._reader.session_row(ref.session_id))["meta"].decode())
        if canonical(sessions.merge_patch(before, read.meta)) == canonical(before):
            return
        append_id = f"{read.told['agent']}:meta:{arrival.digest_of(read.meta)}"
        arriving.note(await sessions.patch_meta(self._writer, arriving.who, ref, dump(read.meta), append_id))


class _Arriving:
    """Appends to one session, and counts what became of it."""

    def __init__(self, writer: Writer, who: Principal, ref: SessionRef) -> None:
        self._writer, self.who, self.ref = writer, who, ref
        self.counts = {"found": 0, "appended": 0, "repeated": 0, "native": 0}
        self.hits: dict[str, int] = {}
        self.has_written = False

    async def append(self, request: Request) -> None:
        try:
            if request.is_native:
                written = await messages.record_native(self._writer, self.who, self.ref, request.text)
            else:
                written = await messages.append_messages(self._writer, self.who, self.ref, request.text, None)
        except AppendIdReused as error:
            raise arrival.changed(request.lines[error.facts.get("index", 0)], error) from None
        self.note(written)
        self.counts["found"] += len(request.lines)
        if request.is_native:
            self.counts["native"] += len(request.lines)
        else:
            repeated = sum(one["duplicate"] for one in written.answer["results"])
            self.counts["repeated"] += repeated
            self.counts["appended"] += len(request.lines) - repeated

    def note(self, written: Written) -> None:
        self.has_written |= not written.duplicate
        self.hits = add_hits(self.hits, written.answer.get("redactions", {}))


def read_file(raw: bytes, agent: str | None, project_id: str, settings: Settings) -> Read:
    """Return a file as it goes in. Raises UnsupportedFormat, UnknownAgent, TooLarge, and what is wrong with a message."""
    if raw.startswith(_DATABASE):
        raise registry.UnsupportedFormat("The body is a database. Send the agent's export of one session.")
    known = _identified(raw, agent)
    conversion = registry.READERS[known].read(BytesIO(raw))
    if not conversion.messages and registry.detect(_begin(raw)) is None:
        raise registry.UnsupportedFormat(f"The body holds no message of {known}.{_hint(raw)}")
    native_id = arrival.native_id_of(conversion, next(iter(BytesIO(raw))))
    meta = arrival.meta_of(conversion, native_id)
    limit = settings.meta_bytes_max
    if len(dump(meta).encode()) > limit:
        raise TooLarge(f"What the file says of its session is larger than {limit} bytes.", limit="meta_bytes_max", value=limit)
    return Read(
        creation=arrival.creation(known, native_id, arrival.starter_of(conversion), project_id),
        meta=meta,
        requests=list(_requests(conversion, settings)),
        told={"agent": known, "version": conversion.version, "native_session_id": native_id, "report": conversion.report},
        messages=len(conversion.messages),
    )


def _identified(raw: bytes, agent: str | None) -> str:
    try:
        return registry.identify(_begin(raw), agent, "The body")
    except registry.UnsupportedFormat as error:
        raise registry.UnsupportedFormat(error.detail + _hint(raw)) from None


def _begin(raw: bytes) -> list[bytes]:
    return list(islice(BytesIO(raw), registry.LINES_LOOKED_AT))


def _hint(raw: bytes) -> str:
    """What often went wrong, where the lines are one."""
    return "" if b"\n" in raw.strip() else " Is it whole? `curl --data-binary @FILE` keeps the lines apart, `-d @FILE` does not."


def _requests(conversion: Conversion, settings: Settings) -> Iterator[Request]:
    """The appends of a session, in the order of its entries, each within the limits of a request. Raises TooLarge, and more."""
    count = min(arrival.BATCH_COUNT, settings.request_messages_max)
    for is_native, run in groupby(conversion.entries, lambda entry: isinstance(entry, NativeRecords)):
        if is_native:
            yield from (_native(entry, settings) for entry in run if isinstance(entry, NativeRecords))
            continue
        for batch in arrival.batches([entry for entry in run if isinstance(entry, Message)], count, REQUEST_BYTES):
            for message, text in batch:
                _check(message, text, settings)
            yield Request(arrival.messages_body([text for _, text in batch]), tuple(message.line for message, _ in batch), False)


def _native(entry: NativeRecords, settings: Settings) -> Request:
    text = dump(entry.body)
    _check_size(text, entry.lines, settings)
    return Request(text, entry.lines, True)


def _check(message: Message, text: str, settings: Settings) -> None:
    _check_size(text, (message.line,), settings)
    try:
        check_message(parse_object(text))
    except StoreError as error:
        raise type(error)(f"Line {message.line}: {error.detail}", **error.facts, line=message.line) from None


def _check_size(text: str, lines: Sequence[int], settings: Settings) -> None:
    limit = settings.message_bytes_max
    if len(text) > limit or len(text.encode()) > limit:
        raise TooLarge(
            f"Line {lines[0]} makes a message larger than {limit} bytes. Nothing was imported.",
            limit="message_bytes_max",
            value=limit,
            line=lines[0],
        )
