"""Is this an export of Hermes? Told by the columns it has, never by a file's name.

What Hermes writes as a trace is in Claude Code's format, and read as such.
"""

from collections.abc import Iterable
from itertools import islice

from adapters.hermes.records import SESSION_COLUMNS, documents, is_document, version_of

LINES_MAX = 64
_OURS = frozenset(SESSION_COLUMNS) - {"id", "source", "title", "model", "cwd"}


def detect(lines: Iterable[bytes]) -> tuple[float, str]:
    """Return how sure it is (0 to 1, the share of sessions with Hermes's columns) and the schema's version or ""."""
    found = [value for value, _, _ in documents(islice(lines, LINES_MAX))]
    ours = [value for value in found if is_document(value) and len(_OURS & value.keys()) >= 3]
    version = version_of(ours[0]) if ours else ""
    return (len(ours) / len(found) if found else 0.0), version.replace("unknown", "")
