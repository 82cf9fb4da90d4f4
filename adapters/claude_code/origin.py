"""Who said it: a human, an agent, or the harness in a user's clothes (caveats, notifications, summaries)."""

import re
from typing import Literal

from adapters.conversion import Json

Origin = Literal["human", "agent", "harness"]

INTERRUPTED = "[Request interrupted by user"
SYNTHETIC_MODEL = "<synthetic>"

_markup = re.compile(
    r"\s*<(?:command-(?:name|message|args)|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)"
    r"|task-notification|system-reminder|user-prompt-submit-hook)>"
)
_harness_flags = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")


def origin_of_user(record: Json, text: str, is_subagent: bool) -> Origin:
    """Who wrote a user line's text. A sub-agent's prompts come from the agent that started it."""
    kind = record.get("origin")
    is_notice = isinstance(kind, dict) and kind.get("kind") == "task-notification"
    if is_notice or any(record.get(flag) for flag in _harness_flags) or text.startswith(INTERRUPTED) or _markup.match(text):
        return "harness"
    return "agent" if is_subagent else "human"


def origin_of_assistant(record: Json, model: str) -> Origin:
    """Synthetic replies are written by the harness: API errors, "No response requested." """
    return "harness" if record.get("isApiErrorMessage") or model == SYNTHETIC_MODEL else "agent"


def provider_of(reply_id: str) -> str:
    """Whose keys sign the thinking, by the prefix of the reply's id; it opens nowhere else."""
    if reply_id.startswith("msg_bdrk_"):
        return "bedrock"
    return "vertex" if reply_id.startswith("msg_vrtx_") else "anthropic"
