"""Is this an OpenCode export? Told by what the text says, never by a file's name."""

import re
from collections.abc import Iterable
from itertools import islice

from adapters.opencode.records import info_of, join_lines, parse_document
from adapters.values import text_of

LINES_MAX = 64
_begin = re.compile(r'\ufeff?\s*\{\s*"info"\s*:\s*\{')
_session = re.compile(r'"(?:id|sessionID)"\s*:\s*"ses[^"]*"')
_version = re.compile(r'"version"\s*:\s*"([^"\\]{1,40})"')


def detect(lines: Iterable[bytes]) -> tuple[float, str]:
    """Return how sure it is (0 to 1) and the agent's version or "". A few dozen lines of an export are enough."""
    raw = join_lines(islice(lines, LINES_MAX))
    value, _ = parse_document(raw)
    if isinstance(value, dict):
        info = info_of(value)
        is_ours = isinstance(value.get("messages"), list) and text_of(info, "id").startswith("ses")
        return (1.0 if is_ours else 0.0), text_of(info, "version") if is_ours else ""
    text = raw.decode("utf-8", "replace")
    if not _begin.match(text) or not _session.search(text):
        return 0.0, ""
    version = _version.search(text)
    return 0.9, version[1] if version else ""
