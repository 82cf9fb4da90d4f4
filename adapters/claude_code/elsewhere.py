"""What a session says of its place, said for another one: a working directory under another root, what stands beside a file."""

from collections.abc import Mapping
from typing import Any

from adapters.conversion import Json
from adapters.values import text_of


def sidecar_of(meta: Json, call_ids: Mapping[str, str]) -> Json | None:
    """What the agent keeps beside a sub-agent's file."""
    link = meta.get("subagent")
    if not isinstance(link, dict):
        return None
    call = text_of(link, "tool_use_id")
    told = {
        "agentType": text_of(link, "agent_type"),
        "toolUseId": call_ids.get(call, call),
        "parentAgentId": text_of(link, "parent_agent_id"),
    }
    return {key: value for key, value in told.items() if value} or None


def moved(cwd: Any, old: str, new: str) -> str:
    """A line's working directory under another root; "" where it stays."""
    if not isinstance(cwd, str) or not new or not old or new == old:
        return ""
    rest = cwd.removeprefix(old.rstrip("/\\"))
    if rest == cwd or rest[:1] not in ("", "/", "\\"):
        return ""
    return new.rstrip("/\\") + (rest.replace("\\", "/") if "/" in new else rest) or new
