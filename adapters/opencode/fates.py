"""What becomes of each leaf of a message that is written for OpenCode; what a conversion noted comes first.

The table is a source of the field list in the documentation.
"""

from collections.abc import Mapping
from typing import Any

from adapters.leaves import CONVERTED, Fate, Path
from adapters.opencode.said_in import Notes

SAID = (
    "schema_version",
    "session_id",
    "seq",
    "append_id",
    "role",
    "content",
    "created_at",
    "tool_calls",
    "tool_call_id",
    "thinking",
)
METADATA: Mapping[str, Fate] = {
    **dict.fromkeys(("native_id", "parent_id", "reply_id", "agent_source", "origin", "model", "provider", "compaction"), CONVERTED),
    "is_error": CONVERTED,
    "usage": CONVERTED,
    "project": Fate("kept_native", "the hub's own name for where the session belongs"),
    "redactions": Fate("kept_native", "the hub's own note"),
    "subagent": Fate("degraded", "sessions are linked as parent and child; the agent's own names are not kept"),
}
USAGE = frozenset("input_tokens output_tokens reasoning_tokens cache_read_input_tokens cache_creation_input_tokens".split())
OTHERS_NATIVE = Fate("kept_native", "the other agent's own record: stays behind for the way home to it")
NO_PLACE = Fate("dropped", "OpenCode has no place for it")
NO_STATUS = Fate("degraded", "OpenCode knows this only of messages of its own making")


def fate_of(message: Mapping[str, Any], notes: Notes, path: Path, value: Any) -> Fate:
    """The fate of one leaf of a message that is written."""
    noted = next((notes[path[:size]] for size in range(len(path), -1, -1) if path[:size] in notes), None)
    if noted:
        return noted
    if path[0] == "native":
        return OTHERS_NATIVE if value is not None else CONVERTED
    if path[0] == "metadata":
        return _of_metadata(message, path, value)
    return CONVERTED if path[0] in SAID else NO_PLACE


def _of_metadata(message: Mapping[str, Any], path: Path, value: Any) -> Fate:
    if len(path) == 1:
        return CONVERTED
    name = str(path[1])
    if name == "status":
        is_plain = value == "complete" or (value == "error" and message["role"] == "tool")
        return CONVERTED if is_plain else NO_STATUS
    if name == "usage":
        is_known = message["role"] == "assistant" and len(path) == 3 and path[2] in USAGE
        return CONVERTED if is_known else NO_PLACE
    if name == "compaction" and path[2:] != ("trigger",):
        return Fate("degraded", "what a summary stands for is told by where it stands")
    return METADATA.get(name, NO_PLACE)
