"""Is this a session of Gemini CLI? Told by what the lines are, never by a file's name."""

from collections.abc import Iterable
from itertools import islice

from adapters.conversion import Json
from adapters.gemini.records import MESSAGE_TYPES, SHOWN_TYPES, is_document, is_header, kind_of, read_file
from adapters.json_lines import BLANK, NOT_JSON

LINES_MAX = 64
SURE, LIKELY = 1.0, 0.6
_types = (*MESSAGE_TYPES, *SHOWN_TYPES)


def detect(lines: Iterable[bytes]) -> tuple[float, str]:
    """Return how sure it is (0 to 1, the share of lines that only this agent writes); no file names the version that wrote it."""
    given = list(islice(lines, LINES_MAX))
    file = read_file(given)
    if file.lines and file.lines[0].problem == NOT_JSON and _begins_a_document(given):
        return LIKELY, ""
    records = [line.record for line in file.lines if line.problem != BLANK]
    ours = sum(map(_is_ours, records))
    return (ours / len(records) if records else 0.0), ""


def _is_ours(record: Json) -> bool:
    match kind_of(record):
        case "header":
            return is_header(record) or (is_document(record) and "startTime" in record)
        case "message":
            return record.get("type") in _types and "content" in record
        case "$set" | "$rewindTo":
            return True
    return False


def _begins_a_document(given: list[bytes]) -> bool:
    """Do the lines begin as a document of older versions, of which more is to come?"""
    head = b"".join(given[:8])
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{") and b'"sessionId"' in head and b'"projectHash"' in head
