"""Is this a Claude Code transcript? Told by what the lines are, never by a file's name."""

from collections.abc import Iterable

from adapters.claude_code.records import KNOWN_TYPES
from adapters.conversion import Json
from adapters.json_lines import head
from adapters.values import text_of


def detect(lines: Iterable[bytes]) -> tuple[float, str]:
    """Return how sure it is (0 to 1, the share of lines that only this agent writes) and the agent's version or ""."""
    seen = head(lines)
    ours = [parsed.value for parsed in seen if not parsed.problem and _is_ours(parsed.value)]
    versions = [version for record in ours if (version := text_of(record, "version"))]
    return (len(ours) / len(seen) if seen else 0.0), next(reversed(versions), "")


def _is_ours(record: Json) -> bool:
    """A node of the tree, or one of the records beside it."""
    if text_of(record, "uuid") and "parentUuid" in record and text_of(record, "sessionId"):
        return True
    marks = ("sessionId", "leafUuid", "messageId")
    return text_of(record, "type") in KNOWN_TYPES and any(text_of(record, mark) for mark in marks)
