"""What becomes of messages that go out: what every writer says of them in the same words."""

from collections.abc import Mapping
from typing import Any

from adapters.conversion import Json
from adapters.leaves import Fate, Path
from adapters.session import is_compaction, is_harness

Notes = dict[Path, Fate]  # what becomes of the leaves under a path, where it is not what the tables say

# What is written where something is missing.
NO_RESULT = "[No result: the session ended, or was handed on, before this tool answered.]"
ORPHAN = "[A tool's result whose call is not in this session]"
NO_SUMMARY = "[What was said before was summarised, but the summary is empty.]"
BEGINS = "[The session begins with the assistant.]"

# Why a message is not written as it is.
SYSTEM = "another agent's system prompt is not live here"
HARNESS = "text of another agent's harness is not live here"
DOUBLED = "the call has a result already; the first counts"
EMPTY = "nothing is left of it that could be written"
NO_CALL = "the call that it answers is not live"
AS_TEXT = Fate("degraded", "its call is not in the session; told as text")

HUBS_OWN = Fate("kept_native", "about the message as the hub keeps it")
SEALED = Fate("kept_native", "signed or encrypted: it opens only where it came from")
NO_PLACE = Fate("dropped", "no place for this field")

HUBS = frozenset({"schema_version", "session_id", "seq"})
HUBS_METADATA = frozenset({"metadata.project", "metadata.pinned", "metadata.redactions"})
# Stays where the session came from, whole, for the way home; nothing that a reader of the session would miss here.
STAYS: Mapping[str, str] = {
    "native": "the record of the agent it came from",
    **dict.fromkeys(sorted(HUBS | HUBS_METADATA), HUBS_OWN.reason),
    "metadata.agent_source": "about where it came from",
    "metadata.native_id": "about where it came from",
    "metadata.parent_id": "about where it came from",
    "metadata.branch_id": "about where it came from",
}


def is_summary(message: Json) -> bool:
    """Is it written as a compaction's summary?"""
    return is_compaction(message) and message["role"] in ("user", "assistant") and not message.get("tool_calls")


def why_left_out(message: Json) -> str:
    """Return why what a message says is not live with another agent, "" where it is."""
    role = message["role"]
    if role == "system":
        return SYSTEM
    is_said = role == "tool" or (role == "assistant" and message.get("tool_calls"))
    return HARNESS if is_harness(message) and not is_said else ""


def kind_of(message: Json) -> str:
    """Return `summary` for what is written as one, else the role."""
    return "summary" if is_summary(message) else str(message["role"])


def is_sealed(item: Any) -> bool:
    """Is this item of a thinking signed or encrypted?"""
    return isinstance(item, dict) and bool(item.get("signature") or item.get("data"))


def open_texts(thinking: Any) -> list[str]:
    """Return the texts of the thinking that nobody signed or encrypted."""
    if not isinstance(thinking, dict):
        return []
    items = thinking.get("items")
    if isinstance(items, list) and items:
        open_items = (item for item in items if isinstance(item, dict) and not is_sealed(item))
        return [text for item in open_items if isinstance(text := item.get("text"), str) and text]
    content = thinking.get("content")
    return [content] if isinstance(content, str) and content and thinking.get("encrypted") is not True else []


def is_nothing(value: Any) -> bool:
    """Is a leaf of thinking one that says nothing?"""
    return value in (None, {}, [], "") or value is False
