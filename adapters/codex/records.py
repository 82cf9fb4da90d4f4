"""One line of a rollout: `{timestamp, type, payload}`; which of its items say something, and the names that lines go by.

Response items are what the model was sent and what it answered: they are the truth. `event_msg` lines show the same to
people, mostly a second and a third time. `compacted` holds items that take the place of all before.

**A line's key** is made of its value, less its number, so it is the same in every longer version of the file, and in a copy of it.
The first versions (early 2025) wrote items as bare lines, without an envelope; those are read too.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

from adapters.conversion import Json
from adapters.json_lines import NOT_JSON, NOT_UTF8, TORN, Parsed, bare_size, parse_line
from adapters.leaves import Path
from adapters.values import text_of
from eventstore.wire import codec

AGENT = "codex"
VERSION = "0.171.0"

ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
SEALED_SUMMARIES = frozenset({"compaction", "compaction_summary", "context_compaction"})
LINE_TYPES = frozenset(
    "session_meta response_item compacted turn_context event_msg inter_agent_communication inter_agent_communication_metadata "
    "token_usage_record world_state security_risk_score retained_context realtime_item".split()
)
ITEM_TYPES = (
    CALLS
    | RESULTS
    | SEALED_SUMMARIES
    | {"message", "reasoning", "agent_message", "web_search_call", "image_generation_call", "ghost_snapshot"}
)

Says = Literal["message", "reasoning", "call", "result", "sealed"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it was read. `payload` is None for a line without one; `at` is where it stands in the value; `key` is "" for a line
    that can be no message."""

    number: int  # from 1
    raw: memoryview
    parsed: Parsed
    key: str = ""
    type: str = ""
    payload: Json | None = None
    at: Path = ()

    @property
    def kind(self) -> str:
        """How a report names the line: `response_item.reasoning`."""
        inner = text_of(self.payload or {}, "type") if self.type in ("response_item", "event_msg") else ""
        return ".".join(name[:60] for name in (self.type, inner) if name) or "unknown"


def lines_of(raws: Iterable[bytes]) -> list[Line]:
    """Return the lines of a file; line ends are optional. Never raises."""
    lines: list[Line] = []
    seen: Counter[str] = Counter()
    is_whole = True
    for number, raw in enumerate(raws, 1):
        is_whole = raw.endswith(b"\n")
        bare = memoryview(raw)[3 if number == 1 and raw.startswith(b"\xef\xbb\xbf") else 0 : bare_size(raw)]
        lines.append(line_of(number, bare, parse_line(bare), seen))
    if lines and not is_whole and lines[-1].parsed.problem in (NOT_JSON, NOT_UTF8):
        last = lines[-1]
        lines[-1] = Line(last.number, last.raw, last.parsed._replace(problem=TORN))
    return lines


def line_of(number: int, raw: memoryview, parsed: Parsed, seen: Counter[str]) -> Line:
    """Return a line with its key; `seen` counts the equal ones before it."""
    if parsed.problem:
        return Line(number, raw, parsed)
    value: Json = parsed.value
    payload, kind = value.get("payload"), text_of(value, "type")
    at: Path = ("payload",) if isinstance(payload, dict) else ()
    if not at:
        payload = value if kind in ITEM_TYPES else None
        kind = "response_item" if kind in ITEM_TYPES else kind
        if not kind and text_of(value, "id") and text_of(value, "timestamp"):
            kind, payload = "session_meta", value
    if payload is None or kind not in ("response_item", "compacted"):
        return Line(number, raw, parsed, "", kind, payload, at)
    name = _digest(value, raw, is_exact=parsed.is_exact)
    seen[name] += 1
    return Line(number, raw, parsed, name if seen[name] == 1 else f"{name}.{seen[name]}", kind, payload, at)


def says(item: Any) -> Says | None:
    """What kind of message an item is; None for one that is none, or that Codex itself could not read."""
    if not isinstance(item, dict):
        return None
    kind, call_id = text_of(item, "type"), text_of(item, "call_id")
    if kind == "message":
        is_content = isinstance(item.get("content"), str | list)
        return "message" if text_of(item, "role") in ROLES and is_content else None
    if kind == "agent_message":
        return "message" if isinstance(item.get("content"), str | list) else None
    if kind == "reasoning":
        return "reasoning"
    if kind in SEALED_SUMMARIES:
        return "sealed" if text_of(item, "encrypted_content") else None
    if kind in RESULTS:
        return "result" if call_id else None
    return "call" if _is_call(kind, item, call_id) else None


def call_id_of(item: Json) -> str:
    return text_of(item, "call_id") or (text_of(item, "id") if item.get("type") == "local_shell_call" else "")


def replaced_by(payload: Json) -> list[tuple[Any, Path]]:
    """The items that a `compacted` line puts in place of all before, each with its place in the payload.

    Where it lists none, that is its text, which the model is sent as a user's, behind the prompts so far (`keeps_prompts`).
    """
    history = payload.get("replacement_history")
    if isinstance(history, list):
        return [(item, ("replacement_history", index)) for index, item in enumerate(history)]
    text = payload.get("message")
    return [({"type": "message", "role": "user", "content": text}, ("message",))] if isinstance(text, str) else []


def keeps_prompts(payload: Json) -> bool:
    return not isinstance(payload.get("replacement_history"), list)


def versions_of(lines: Sequence[Line]) -> list[str]:
    """The version of the agent, as of each line."""
    versions: list[str] = []
    version = ""
    for line in lines:
        if line.type == "session_meta" and line.payload is not None:
            version = text_of(line.payload, "cli_version") or version
        versions.append(version)
    return versions


def _is_call(kind: str, item: Json, call_id: str) -> bool:
    match kind:
        case "function_call":
            return bool(call_id and text_of(item, "name")) and isinstance(item.get("arguments"), str)
        case "custom_tool_call":
            return bool(call_id and text_of(item, "name")) and isinstance(item.get("input"), str)
        case "local_shell_call":
            return bool(call_id_of(item))
        case "tool_search_call":
            return bool(call_id)
    return False


def _digest(value: Json, raw: memoryview, *, is_exact: bool) -> str:
    if is_exact:
        value = {name: inner for name, inner in value.items() if name != "ordinal"}
    text = codec.canonical(value).encode("utf-8", "surrogatepass") if is_exact else bytes(raw)
    return sha256(text).hexdigest()[:24]
