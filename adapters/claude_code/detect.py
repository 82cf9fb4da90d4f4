"""Is this a Claude Code transcript? Told by what the lines are, never by a file's name."""

from collections.abc import Iterable
from itertools import islice

from adapters.claude_code.records import KNOWN_TYPES
from adapters.conversion import Json
from adapters.json_lines import BLANK, parse_line
from adapters.values import text_of

LINES_MAX = 64


def detect(lines: Iterable[bytes]) -> tuple[float, str]:
    """Return how sure it is (0 to 1, the share of lines that only this agent writes) and the agent's version or ""."""
    ours = seen = 0
    version = ""
    for raw in islice(lines, LINES_MAX):
        parsed = parse_line(raw.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n"))
        if parsed.problem == BLANK:
            continue
        seen += 1
        if not parsed.problem and _is_ours(parsed.value):
            ours += 1
            version = text_of(parsed.value, "version") or version
    return (ours / seen if seen else 0.0), version


def _is_ours(record: Json) -> bool:
    """A node of the tree, or one of the records beside it."""
    if text_of(record, "uuid") and "parentUuid" in record and text_of(record, "sessionId"):
        return True
    marks = ("sessionId", "leafUuid", "messageId")
    return text_of(record, "type") in KNOWN_TYPES and any(text_of(record, mark) for mark in marks)
