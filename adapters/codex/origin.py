"""Who said it: a human, an agent, or the harness in a user's clothes (environment, instructions, notices)."""

import re
from typing import Any

from adapters.conversion import Json
from adapters.values import text_of

_markup = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|INSTRUCTIONS|skills_instructions|skill|permissions instructions|"
    r"permissions|turn_aborted|collaboration_mode|apps_instructions|plugins_instructions|subagent_notification|"
    r"personality_spec|model_switch|multi_agent_mode|recommended_plugins)[\s>]|# AGENTS\.md instructions)"
)


def is_context(item: Json) -> bool:
    """Was this user's message put in by the harness?

    Newer versions say for each part where it came from; for others the marks that the harness writes around it tell.
    """
    told = _provenances(item)
    if told:
        return "user" not in told
    content = item.get("content")
    if isinstance(content, list):
        content = next((text_of(part, "text") for part in content if isinstance(part, dict)), "")
    return isinstance(content, str) and _markup.match(content) is not None


def is_turn(item: Json) -> bool:
    """Does a turn of the user begin with this item?"""
    return item.get("type") == "message" and item.get("role") == "user" and not is_context(item)


def _provenances(item: Json) -> set[str]:
    passed: Any = item.get("internal_chat_message_metadata_passthrough")
    parts = passed.get("content_item_metadata") if isinstance(passed, dict) else None
    named = (part.get("provenance") for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
    return {text_of(name, "type") for name in named if isinstance(name, dict) and text_of(name, "type")}
