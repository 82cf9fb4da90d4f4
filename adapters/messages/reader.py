"""A `messages` file in: each line an entry, in order, its value untouched.

Where a message has no `append_id`, one is made from the line's place and text, equal on every run; the way back to a file
leaves it out again.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from adapters.conversion import Conversion, Json, Message, NativeRecords
from adapters.messages.lines import AGENT, BLANK, TORN, VERSION, Line, is_header, parse_line
from adapters.report import Report
from eventstore.errors import InvalidJson
from eventstore.wire import codec

_BOM = b"\xef\xbb\xbf"


def read(lines: Iterable[bytes], *, is_final: bool = True) -> Conversion:
    """Convert a file, given as its lines. Never raises for what they hold. `is_final=False`: a torn last line waits."""
    reading = Reading(lines, is_final=is_final)
    entries = tuple(reading.entries())
    return Conversion(
        agent=AGENT,
        version=VERSION,
        meta=reading.meta,
        entries=entries,
        report=reading.report(),
        held_records=reading.held,
        header=reading.header,
    )


class Reading:
    """A file that is read line by line. `entries` is to be taken once, then `report`; the header is known at once."""

    version = VERSION

    def __init__(self, lines: Iterable[bytes], *, is_final: bool = True) -> None:
        self._report = Report(AGENT, VERSION, "to_standard")
        self._is_final = is_final
        self.held = 0
        self.subagents: Mapping[str, str] = {}
        self._lines = _numbered(lines, self._report)
        first = next(self._lines, None)
        self._first = first if first is None else (parse_line(first[1], 1), *first[1:])
        header = self._first[0].value if self._first and self._first[0].kind == "header" else {}
        self._header = header
        self.meta: Json = meta if isinstance(meta := header.get("meta"), dict) else {}
        self.header = _more_of(header)

    def entries(self) -> Iterator[Message | NativeRecords]:
        if self._first is None:
            return
        line, raw, is_whole, is_last = self._first
        yield from self._entry(line, 1, raw, is_torn=is_last and not is_whole)
        for number, raw, is_whole, is_last in self._lines:
            yield from self._entry(parse_line(raw, number), number, raw, is_torn=is_last and not is_whole)

    def report(self) -> Json:
        """Return the report, once all entries have been taken."""
        if self._header and self._header.get("schema_version") != codec.Number(VERSION):
            self._report.warn("lines/header", "written for another schema_version than this reader's", "line 1")
        return self._report.to_dict()

    def _entry(self, line: Line, number: int, raw: bytes, *, is_torn: bool) -> Iterator[Message | NativeRecords]:
        if line.kind == "kept" and is_torn and line.problem != BLANK:
            line = Line("kept", line.value, TORN)
            if not self._is_final:
                self.held = 1
                return
        self._report.found("lines")
        if line.kind == "header":
            self._report.converted("lines")
        else:
            yield _entry(line, number, raw, self._report)


def detect(lines: Iterable[bytes]) -> tuple[float, str]:
    """Sure when the first line is a header with a schema_version, else not at all."""
    first = next(iter(lines), b"").removeprefix(_BOM)
    try:
        value = codec.parse_object(codec.decode_text(first)).fields
    except InvalidJson:
        return 0.0, ""
    return (1.0, str(value["schema_version"])) if is_header(value) and "schema_version" in value else (0.0, "")


def _numbered(lines: Iterable[bytes], report: Report) -> Iterator[tuple[int, bytes, bool, bool]]:
    """Yield each line's number, its text without line end and byte order mark, whether it is whole, and whether the last."""
    before: bytes | None = None
    number = 0
    for raw in lines:
        if before is not None:
            number += 1
            yield number, _bare(before, number, report), True, False
        before = raw
    if before is not None:
        yield number + 1, _bare(before, number + 1, report), before.endswith(b"\n"), True


def _bare(raw: bytes, number: int, report: Report) -> bytes:
    if number == 1 and raw.startswith(_BOM):
        raw = raw.removeprefix(_BOM)
        report.warn("file", "the byte order mark at its start is not kept", "line 1")
    if raw.endswith(b"\r\n"):
        report.warn("file", "that lines end in CR LF is not kept", f"line {number}")
    return raw.removesuffix(b"\n").removesuffix(b"\r")


def _entry(line: Line, number: int, raw: bytes, report: Report) -> Message | NativeRecords:
    if line.kind == "kept":
        report.note("kept_native", "lines/unreadable", line.problem, f"line {number}")
        line = Line("native", {"agent": AGENT, "version": VERSION, "records": [line.value]}, line.problem)
    else:
        report.converted("lines")
    body = line.value
    has_made_id = not isinstance(body.get("append_id"), str)
    if has_made_id:
        body = body | {"append_id": f"{AGENT}:{number}:{sha256(raw).hexdigest()[:32]}"}
        if not line.problem:
            report.note("synthesised", "lines/append_id", "the line has none; made from its place and text", f"line {number}")
    if line.kind == "native":
        return NativeRecords(body, (number,) * max(1, len(body["records"])), has_made_id)
    report.message(body["role"])
    metadata = body.get("metadata") or {}
    parent = metadata.get("parent_id")
    native_id = metadata.get("native_id")
    return Message(
        body,
        native_id if isinstance(native_id, str) else body["append_id"],
        parent if isinstance(parent, str) else None,
        number,
        has_made_id=has_made_id,
    )


def _more_of(header: Json) -> Json:
    """What a header says beside the meta, and beside what every header of this version says."""
    ours = {"type": "session", "schema_version": codec.Number(VERSION)}
    return {
        key: value for key, value in header.items() if ours.get(key) != value and (key != "meta" or not isinstance(value, dict))
    }
