"""One line of a `messages` file: a header, a message, native records, or what cannot be read and is kept as it is.

A header is `{"type": "session", "schema_version": 1, "meta": {…}, "native": {…}}`. What is no line of this format is kept as
native records of the agent `messages`, in its place, so that a file comes back whole.
"""

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any, Literal

from adapters.conversion import Json
from eventstore.errors import InvalidJson, InvalidMessage, StoreError, UnsupportedSchemaVersion
from eventstore.wire import codec
from eventstore.wire.message import SCHEMA_VERSION, check_message

AGENT = "messages"
VERSION = str(SCHEMA_VERSION)

TORN = "the last line is torn: its end was not written"
BLANK = "a blank line"
NOT_UTF8 = "not UTF-8"
UNKNOWN = "neither a message nor native records"


@dataclass(frozen=True, slots=True)
class Line:
    """What a line is, and its value; `kept` is the record of one that is none of this format, `problem` says why."""

    kind: Literal["header", "message", "native", "kept"]
    value: Json
    problem: str = ""


def parse_line(raw: bytes, number: int) -> Line:
    """Read one line, without its line end. Never raises. Only the first line can be a header."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return Line("kept", {"line": number, "base64": b64encode(raw).decode("ascii")}, NOT_UTF8)
    if not text.strip():
        return Line("kept", {"line": number, "raw": text}, BLANK)
    try:
        document = codec.parse_object(text)
    except InvalidJson as error:
        return Line("kept", {"line": number, "raw": text}, error.detail)
    value = document.fields
    if number == 1 and is_header(value):
        return Line("header", value)
    if "role" in value:
        return _message(document, number)
    if isinstance(value.get("agent"), str) and isinstance(value.get("records"), list):
        return Line("native", value)
    return Line("kept", {"line": number, "raw": text}, UNKNOWN)


def is_header(value: Json) -> bool:
    return value.get("type") == "session" and "role" not in value


def header_line(meta: Json, header: Json) -> bytes:
    return line_of({"type": "session", "schema_version": SCHEMA_VERSION, "meta": meta, **header})


def line_of(value: Any) -> bytes:
    return codec.dump(value).encode() + b"\n"


def kept_lines(entry: Json) -> list[bytes] | None:
    """The lines that an entry keeps for this format, or None when it is another agent's."""
    if entry.get("agent") != AGENT:
        return None
    lines = [_kept(record) for record in entry["records"]]
    return None if None in lines else [line + b"\n" for line in lines if line is not None]


def _kept(record: Any) -> bytes | None:
    """The line, or None where the record is none that the reader made."""
    match record:
        case {"raw": str(text)}:
            line = text.encode("utf-8", "surrogatepass")
        case {"base64": str(text)}:
            try:
                line = b64decode(text, validate=True)
            except ValueError:
                return None
        case _:
            return None
    return None if b"\n" in line else line


def _message(document: codec.Document, number: int) -> Line:
    try:
        check_message(document)
    except (InvalidMessage, UnsupportedSchemaVersion) as error:
        return Line("kept", {"line": number, "raw": document.text}, _reason(error))
    return Line("message", document.fields)


def _reason(error: StoreError) -> str:
    """Why a message is none; what it holds is not repeated."""
    return "a newer schema_version" if isinstance(error, UnsupportedSchemaVersion) else "not a standard message"
