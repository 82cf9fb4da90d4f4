"""An export: a session's columns and its `messages`, one row each; the names that rows go by, and the few facts of them.

**A row's key** is made of what the row says, and which of its equals it is: importing a session gives its rows new numbers,
and a key that held them would make every message a new one on the next host. What Hermes changes in a row that is written
(its number, its session, whether it is live, what of it was sent) is not in the key, and is kept apart (`MUTABLE`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from adapters.conversion import Json
from adapters.values import depth_of, int_of, text_of
from eventstore.errors import InvalidJson
from eventstore.wire import codec
from eventstore.wire.codec import Number

AGENT = "hermes"
VERSION = "22"  # of the schema
SENTINEL = "\0json:"  # what a content that is no string begins with in the database
NESTING_MAX = codec.NESTING_MAX - 8  # a row stands at most eight levels deep in what is sent
SUMMARY_PREFIXES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")
SUMMARY_INSIDE = "[CONTEXT COMPACTION — REFERENCE ONLY]"

SESSION_COLUMNS = (
    "id source user_id session_key chat_id chat_type thread_id display_name origin_json expiry_finalized model model_config "
    "system_prompt parent_session_id started_at ended_at end_reason message_count tool_call_count input_tokens output_tokens "
    "cache_read_tokens cache_write_tokens reasoning_tokens cwd git_branch git_repo_root billing_provider billing_base_url "
    "billing_mode estimated_cost_usd actual_cost_usd cost_status cost_source pricing_version title api_call_count "
    "handoff_state handoff_platform handoff_error compression_failure_cooldown_until compression_failure_error "
    "compression_fallback_streak profile_name rewind_count archived"
).split()
ROW_COLUMNS = (
    "id session_id role content tool_call_id tool_calls tool_name effect_disposition timestamp token_count finish_reason "
    "reasoning reasoning_content reasoning_details codex_reasoning_items codex_message_items platform_message_id observed "
    "active compacted api_content"
).split()
ROLES = frozenset({"system", "user", "assistant", "tool"})
# What may change in a row, with what it mostly is.
MUTABLE: dict[str, Any] = {"id": None, "session_id": None, "active": Number("1"), "compacted": Number("0"), "api_content": None}


def documents(lines: Iterable[bytes]) -> list[tuple[Any, bytes, str]]:
    """Return the sessions that a file holds: value, bytes, and what is wrong with those that cannot be read.

    A line each, as `sessions export` writes them, or one JSON text: a session, a list of them, or `{"sessions": […]}`.
    """
    given = [line.rstrip(b"\r\n") for line in lines]
    texts = [line for line in given if line.strip()]
    found = [_parsed(line) for line in texts]
    if len(texts) > 1 and any(problem for _, _, problem in found):
        whole = _parsed(b"\n".join(given))
        found = found if whole[2] else [whole]
    if len(found) == 1:
        value, raw, _ = found[0]
        inner = value.get("sessions") if isinstance(value, dict) and "messages" not in value else value
        if isinstance(inner, list):
            return [(item, raw, "") for item in inner]
    return found


def _parsed(raw: bytes) -> tuple[Any, bytes, str]:
    try:
        return codec.parse(codec.decode_text(raw.removeprefix(b"\xef\xbb\xbf"))), raw, ""
    except InvalidJson as error:
        return None, raw, error.detail


def is_document(value: Any) -> bool:
    """Is it a session as Hermes exports it? Every export names its source and its start."""
    return isinstance(value, dict) and isinstance(value.get("messages"), list) and "source" in value and "started_at" in value


def version_of(document: Json) -> str:
    """The schema's version as far as the columns tell; "unknown" for older ones and those written by hand."""
    rows = [row for row in rows_of(document) if isinstance(row, dict)]
    columns = {"effect_disposition", "api_content"}
    known = {"rewind_count", "archived"} <= document.keys() and all(columns <= row.keys() for row in rows)
    return VERSION if known else "unknown"


def rows_of(document: Json) -> list[Any]:
    rows = document.get("messages")
    return rows if isinstance(rows, list) else []


def keys_of(rows: Sequence[Any]) -> list[str]:
    """The key of each row."""
    seen: Counter[str] = Counter()
    keys: list[str] = []
    for row in rows:
        name = sha256(codec.canonical(lasting(row)).encode()).hexdigest()[:24]
        seen[name] += 1
        keys.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return keys


def lasting(row: Any) -> Any:
    """What of a row stays as it was written; without empty columns, of which another version may have more."""
    if not isinstance(row, dict):
        return row
    return {name: value for name, value in row.items() if name not in MUTABLE and value is not None}


def why_dead(row: Any) -> str:
    """Why a row is no message; "" for one that is."""
    if not isinstance(row, dict):
        return "no row: not an object"
    active = row.get("active")
    if active is not None and _is_zero(active):
        is_compacted = not _is_zero(row.get("compacted") or False)
        return COMPACTED if is_compacted else REWOUND
    role = row.get("role")
    return "" if isinstance(role, str) and role in ROLES else UNKNOWN


COMPACTED = "compacted: a summary among the live rows stands for it"
REWOUND = "rewound: taken back, no longer live"
UNKNOWN = "no message: of a role that is none of the model's"


def _is_zero(value: Any) -> bool:
    return value is False or (int_of(value) == 0)


def is_summary(content: Any) -> bool:
    """Is it what a compaction wrote? Its text begins so, or holds it behind what it was merged with."""
    if isinstance(content, list):
        content = next((text_of(part, "text") for part in content if isinstance(part, dict) and part.get("type") == "text"), "")
    return isinstance(content, str) and (content.lstrip().startswith(SUMMARY_PREFIXES) or SUMMARY_INSIDE in content)


def model_config_of(document: Json) -> Json:
    return object_of(document.get("model_config"))


def object_of(value: Any) -> Json:
    """An object, or the object that a JSON text is; empty for anything else."""
    parsed = json_of(value)
    return parsed if isinstance(parsed, dict) else {}


def json_of(value: Any) -> Any:
    """A value, or the value that a JSON text is; None for a text that is none."""
    if not isinstance(value, str):
        return value
    try:
        return codec.parse(value)
    except InvalidJson:
        return None


def as_kept(value: Any) -> Json:
    """How a row is kept: `{row}`, or `{raw}` where it is nested too deep to be sent as a value."""
    return {"row": value} if depth_of(value) <= NESTING_MAX else {"raw": codec.dump(value)}


def from_kept(kept: Json) -> Any:
    """The row. Raises KeyError, InvalidJson."""
    return codec.parse(kept["raw"]) if isinstance(kept.get("raw"), str) else kept["row"]
