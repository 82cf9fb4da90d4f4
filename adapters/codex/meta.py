"""What a rollout says of its session: title, place, versions, ancestry."""

from collections.abc import Sequence
from typing import Any

from adapters.codex.live import Unit
from adapters.codex.origin import is_turn
from adapters.codex.records import AGENT, Line
from adapters.conversion import Json
from adapters.values import text_of

TITLE_CHARS_MAX = 80
LOOKED_AT_CHARS = 1000  # of a prompt that may be very long


def own_meta(lines: Sequence[Line]) -> Json:
    """The payload of the first session_meta: a file that was resumed or forked may hold those of others behind it."""
    return next((line.payload for line in lines if line.type == "session_meta" and line.payload is not None), {})


def is_subagent(own: Json) -> bool:
    source = own.get("source")
    return isinstance(source, dict) and "subagent" in source


def meta_of(lines: Sequence[Line], live: Sequence[Unit]) -> Json:
    """Return the meta of the session. What is not known is not in it."""
    own = own_meta(lines)
    git = own.get("git")
    git = git if isinstance(git, dict) else {}
    models = (text_of(line.payload or {}, "model") for line in reversed(lines) if line.type == "turn_context")
    known: Json = {
        "title": _named(lines) or next((title for unit in live if (title := _prompt(unit.item))), ""),
        "agent_source": AGENT,
        "agent_version": text_of(own, "cli_version"),
        "native_session_id": text_of(own, "id"),
        "cwd": text_of(own, "cwd"),
        "git_branch": text_of(git, "branch"),
        "model": next((model for model in models if model), ""),
        "provider": text_of(own, "model_provider"),
        "source": text_of(own, "source"),
        "subagent": _subagent(own),
    }
    if text_of(own, "forked_from_id"):
        known["forked_from"] = {"session_id": own["forked_from_id"]}
    return {name: value for name, value in known.items() if value}


def said_of(own: Json) -> frozenset[str]:
    """The fields of a session_meta that the meta says."""
    return frozenset(name for name in ("id", "cwd", "cli_version", "model_provider", "source", "forked_from_id") if own.get(name))


def _subagent(own: Json) -> Json:
    if not is_subagent(own):
        return {}
    told: Any = own["source"]["subagent"]
    spawn = told.get("thread_spawn") if isinstance(told, dict) else None
    spawn = spawn if isinstance(spawn, dict) else {}
    link = {
        "agent_id": text_of(own, "id"),
        "parent_session_id": text_of(spawn, "parent_thread_id"),
        "agent_type": text_of(spawn, "agent_role"),
    }
    return {name: value for name, value in link.items() if value}


def _named(lines: Sequence[Line]) -> str:
    """The newest name that the user gave."""
    for line in reversed(lines):
        if line.type == "event_msg" and line.payload and line.payload.get("type") == "thread_name_updated":
            return text_of(line.payload, "thread_name") or text_of(line.payload, "name")
    return ""


def _prompt(item: Json) -> str:
    if not is_turn(item):
        return ""
    content = item.get("content")
    if isinstance(content, list):
        content = next((text_of(part, "text") for part in content if isinstance(part, dict)), "")
    start = content.strip()[:LOOKED_AT_CHARS] if isinstance(content, str) else ""
    return start.splitlines()[0].rstrip()[:TITLE_CHARS_MAX] if start else ""
