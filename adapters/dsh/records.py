"""An event line of a log, whichever of the formats v0 to v4 it is in: where its message stands in it, and the few facts of it.

Learned from the session package of deepseek-harness-runtime-bin 0.2.1rc2 (format v4, MIT) and logs of the formats v0 and v4.
A message stands in `data` (of users; in the first v0 logs, all), in `data.message`, or, as results did up to v3, in the one
`tool-result` block of a user's message.
"""

from dataclasses import dataclass
from typing import Any

from adapters.conversion import Json
from adapters.leaves import Path
from adapters.moments import stamp
from adapters.values import int_of
from eventstore.wire.codec import Number

AGENT = "dsh"
VERSION = "4"  # the format that is written
VERSIONS = frozenset("01234")
IMPORT = "plugin:tasuki/import"  # our own note of where a log's messages came from

ROLES = {
    "system/message": "system",
    "developer/message": "system",
    "user/message": "user",
    "assistant/message": "assistant",
    "tool/result": "tool",
}
KNOWN_TYPES = frozenset(ROLES) | set(
    "agent-preset/selected agent/inbox/spliced approval/asked approval/decided approval/policy assistant/attempt assistant/chunk "
    "command/run command/done compaction/start compaction/summary compaction/end compaction/prune deliverables/presented "
    "goal/change hook/invoked hook/result image/offload job/registered job/settled llm/retry llm/retry-started model/selection "
    "permission/preset plan/mode request/header request/context sandbox/mode schedule/change "
    "session-log-deepseek/delivery-accepted session/end-seed session/title session/title-llm-request step/start step/end "
    "subagent/catalog subagent/descriptor subagent/model-selection-policy todo/write tool/call tool/ptc-dispatch "
    "tool/ptc-dispatch-start tool/code-dispatch tool/code-dispatch-start turn/start turn/end web/deepseek-search-llm-request "
    "working-directory/change workspace/changes text-chunks reasoning-chunks tool-call-chunks".split()
)
# Not known any more in format v4.
OLD_TYPES = frozenset(
    "assistant/chunk tool/code-dispatch tool/code-dispatch-start text-chunks reasoning-chunks tool-call-chunks".split()
)
KNOWN_FAMILIES = ("feedback/", "team/", "tool-workflow/")
SAFE_INTEGER_MAX = 2**53 - 1
_MS_MAX = 253402300799999  # the end of the year 9999


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the message of an event stands: the object it is, its content, and the paths to both."""

    message: Json
    at: Path
    content: Any
    content_at: Path
    result: Json  # of a result: what holds `toolCallId` and `isError`, else empty
    result_at: Path = ()


def spot_of(record: Json) -> Spot | None:
    """Return where the message of a surface event stands; None where there is none."""
    data = record.get("data")
    if not isinstance(data, dict):
        return None
    inner = data.get("message")
    message, at = (inner, ("data", "message")) if isinstance(inner, dict) else (data, ("data",))
    content, content_at = message.get("content"), (*at, "content")
    result, result_at = (message, at) if record.get("type") == "tool/result" else ({}, ())
    block = content[0] if isinstance(content, list) and len(content) == 1 else None
    if result and isinstance(block, dict) and block.get("type") == "tool-result":
        result, result_at = block, (*content_at, 0)
        content, content_at = block.get("content"), (*result_at, "content")
    return Spot(message, at, content, content_at, result, result_at)


def is_header(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "session" and isinstance(value.get("version"), Number | int)


def version_of(header: Json) -> str:
    """The format's number; "unknown" where no header says it."""
    number = int_of(header.get("version"))
    return "unknown" if number is None else str(number)


def is_known(kind: str) -> bool:
    return kind in KNOWN_TYPES or kind.startswith(KNOWN_FAMILIES)


def is_current(kind: str) -> bool:
    """Is it an event of format v4?"""
    return is_known(kind) and kind not in OLD_TYPES


def rfc3339(ms: Any) -> str:
    """The moment of a time in ms since 1970, in UTC; "" for what is none of our era."""
    number = int_of(ms)
    return stamp(number) if number is not None and 0 <= number <= _MS_MAX else ""
