"""What becomes of each leaf of a message that is written for OpenCode; what a conversion noted comes first.

The table is a source of the field list in the documentation.
"""

from collections.abc import Mapping
from typing import Any

from adapters.fates_out import Notes
from adapters.leaves import CONVERTED, Fate, Path
from adapters.opencode.said_in import is_count

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
IN_CALLS = (("id",), ("type",), ("function", "name"), ("function", "arguments"))
USAGE = frozenset("input_tokens output_tokens reasoning_tokens cache_read_input_tokens cache_creation_input_tokens".split())
OTHERS_NATIVE = Fate("kept_native", "the other agent's own record: stays behind for the way home to it")
OTHERS_IDS = Fate("kept_native", "the other agent's own ids stay behind; OpenCode's are made anew, the same on every run")
HUBS_OWN = Fate("kept_native", "the hub's own note")
NO_PLACE = Fate("dropped", "OpenCode has no place for it")
NO_STATUS = Fate("degraded", "OpenCode knows this only of messages of its own making")
BY_ROLE = Fate("degraded", "who said it is told by the role alone")
ONCE = Fate("degraded", "told once, for the session")
LINKED = Fate("degraded", "sessions are linked as parent and child; the agent's own names are not kept")
SUMMED = Fate("degraded", "what a summary stands for is told by where it stands")
METADATA: Mapping[str, Fate] = {
    "native_id": OTHERS_IDS,
    "parent_id": OTHERS_IDS,
    "agent_source": ONCE,
    "project": HUBS_OWN,
    "redactions": HUBS_OWN,
    "subagent": LINKED,
}


def fate_of(message: Mapping[str, Any], notes: Notes, path: Path, value: Any) -> Fate:
    """The fate of one leaf of a message that is written."""
    noted = next((notes[path[:size]] for size in range(len(path), -1, -1) if path[:size] in notes), None)
    if noted:
        return noted
    role = message["role"]
    match path[0]:
        case "native":
            return OTHERS_NATIVE if value is not None else CONVERTED
        case "metadata":
            return _of_metadata(role, message["metadata"], path, value)
        case "tool_calls":
            is_said = role == "assistant" and (len(path) < 3 or path[2:] in IN_CALLS)
            return CONVERTED if is_said or value is None else NO_PLACE
        case "tool_call_id" | "thinking":
            is_said = role == ("tool" if path[0] == "tool_call_id" else "assistant")
            return CONVERTED if is_said or value is None else NO_PLACE
    return CONVERTED if path[0] in SAID else NO_PLACE


def _of_metadata(role: str, metadata: Any, path: Path, value: Any) -> Fate:
    if len(path) == 1:
        return CONVERTED
    name = str(path[1])
    match name:
        case "status":
            return CONVERTED if value == "complete" or (value == "error" and role == "tool") else NO_STATUS
        case "origin":
            return CONVERTED if value == ("human" if role == "user" else "agent") else BY_ROLE
        case "model" | "provider":
            return CONVERTED if isinstance(value, str) and role == "assistant" and len(path) == 2 else NO_PLACE
        case "is_error":
            return CONVERTED if isinstance(value, bool) and role == "tool" else NO_PLACE
        case "reply_id":
            return CONVERTED if isinstance(value, str) and role == "assistant" and len(path) == 2 else NO_PLACE
        case "usage":
            is_known = role == "assistant" and len(path) == 3 and path[2] in USAGE and is_count(value)
            return CONVERTED if is_known else NO_PLACE
        case "compaction" if isinstance(metadata["compaction"], Mapping):
            is_told = path[2:] == ("trigger",) and value in ("auto", "manual")
            return CONVERTED if is_told or len(path) == 2 else SUMMED
    return METADATA.get(name, NO_PLACE)
