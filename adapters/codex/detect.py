"""Is this a rollout of Codex? Told by what the lines are, never by a file's name."""

from collections.abc import Iterable
from itertools import islice

from adapters.codex.records import LINE_TYPES, Line, lines_of, says, versions_of
from adapters.json_lines import BLANK
from adapters.values import text_of

LINES_MAX = 64


def detect(lines: Iterable[bytes]) -> tuple[float, str]:
    """Return how sure it is (0 to 1, the share of lines that only this agent writes) and the agent's version or ""."""
    seen = [line for line in lines_of(islice(lines, LINES_MAX)) if line.parsed.problem != BLANK]
    ours = [line for line in seen if _is_ours(line)]
    return (len(ours) / len(seen) if seen else 0.0), next(reversed(versions_of(seen)), "")


def _is_ours(line: Line) -> bool:
    """An envelope with its time; or a bare line of the first versions: an item, a state, who the session is."""
    if line.parsed.problem:
        return False
    value = line.parsed.value
    if line.at:
        return line.type in LINE_TYPES and bool(text_of(value, "timestamp"))
    if line.type == "session_meta":
        return "instructions" in value or "git" in value
    return says(line.payload) is not None or text_of(value, "record_type") == "state"
