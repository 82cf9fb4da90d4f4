"""Is this a session log of DeepSeek Harness? Told by its header and its events, never by a file's name."""

from collections.abc import Iterable
from itertools import islice

from adapters.dsh.records import is_header, is_known, version_of
from adapters.json_lines import BLANK, parse_line
from adapters.values import text_of

LINES_MAX = 64


def detect(lines: Iterable[bytes]) -> tuple[float, str]:
    """Return how sure it is (0 to 1, the share of lines that are such a log's) and the format's number or ""."""
    ours = seen = 0
    version = ""
    for raw in islice(lines, LINES_MAX):
        parsed = parse_line(raw.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n"))
        if parsed.problem == BLANK:
            continue
        seen += 1
        value = parsed.value
        if parsed.problem:
            continue
        if is_header(value) and "createdAt" in value:
            ours += 1
            version = version or version_of(value)
        elif (
            (is_known(text_of(value, "type")) or value.get("ignorable") is True)
            and "data" in value
            and ("seq" in value or "seq0" in value)
        ):
            ours += 1
    return (ours / seen if seen else 0.0), version.replace("unknown", "")
