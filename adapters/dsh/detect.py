"""Is this a session log of DeepSeek Harness? Told by its header and its events, never by a file's name."""

from collections.abc import Iterable

from adapters.conversion import Json
from adapters.dsh.records import is_header, is_known, version_of
from adapters.json_lines import head
from adapters.values import text_of


def detect(lines: Iterable[bytes]) -> tuple[float, str]:
    """Return how sure it is (0 to 1, the share of lines that are such a log's) and the format's number or ""."""
    seen = head(lines)
    values = [parsed.value for parsed in seen if not parsed.problem]
    headers = [value for value in values if is_header(value) and "createdAt" in value]
    ours = len(headers) + sum(_is_event(value) for value in values if value not in headers)
    version = version_of(headers[0]) if headers else ""
    return (ours / len(seen) if seen else 0.0), version.replace("unknown", "")


def _is_event(value: Json) -> bool:
    is_one = is_known(text_of(value, "type")) or value.get("ignorable") is True
    return is_one and "data" in value and ("seq" in value or "seq0" in value)
