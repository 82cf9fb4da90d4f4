"""Derive: what views need to know of an event, taken from it once, at its append. Pure.

Strings are cleaned here, so that no fold meets what PostgreSQL's jsonb cannot hold (NUL, lone surrogates), and cut, so that
no row grows with a writer's mistake.
"""

import re
from datetime import UTC, datetime
from typing import Any

from eventstore.wire.codec import Number

TEXT_CHARS_MAX = 200
COMMIT_MSG_CHARS_MAX = 4000
TOKENS_MAX = 10**9
LIST_ITEMS_MAX = 50
_unstorable = re.compile("[\0\ud800-\udfff]")
_usage_names = ("input_tokens", "output_tokens", "total_tokens")


def clean(text: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    """Return a string that every column can hold, cut at `chars_max`."""
    return _unstorable.sub("\ufffd", text[:chars_max])


def message_facts(fields: dict[str, Any]) -> dict[str, Any]:
    """Return what views need of a message: model, agent, origin, status, names of the tools called, tokens, of which reply."""
    metadata = fields.get("metadata") or {}
    facts: dict[str, Any] = {}
    for name in ("model", "agent_source", "origin", "status"):
        if isinstance(metadata.get(name), str):
            facts[name] = clean(metadata[name])
    if metadata.get("is_error") is True:
        facts["is_error"] = True
    if calls := fields.get("tool_calls"):
        facts["tools"] = sorted({clean(call["function"]["name"]) for call in calls})[:LIST_ITEMS_MAX]
    usage = metadata.get("usage")
    if isinstance(usage, dict):
        counts = {name: usage[name].as_int() for name in _usage_names if isinstance(usage.get(name), Number)}
        facts |= {name: count for name, count in counts.items() if count is not None and 0 <= count <= TOKENS_MAX}
        if isinstance(metadata.get("reply_id"), str):
            facts["reply_id"] = clean(metadata["reply_id"])
    return facts


def meta_facts(meta: dict[str, Any]) -> dict[str, Any]:
    """Return what views need of a session's meta: title, agent, and the session that started it as a sub-agent."""
    facts = {name: clean(meta[name]) for name in ("title", "agent_source") if isinstance(meta.get(name), str)}
    link = meta.get("subagent")
    starter = meta.get("parent_session_id") or (link.get("parent_session_id") if isinstance(link, dict) else None)
    return facts | ({"starter": clean(starter)} if isinstance(starter, str) and starter else {})


def said_at(created_at: Any) -> datetime | None:
    """Return a writer's RFC 3339 time, None where it cannot be told as a moment."""
    if not isinstance(created_at, str):
        return None
    try:
        moment = datetime.fromisoformat(created_at.upper())
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
