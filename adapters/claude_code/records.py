"""One line of a transcript: the few facts about it that finding the live branch needs."""

from collections.abc import Callable
from dataclasses import dataclass

from adapters.conversion import Json
from adapters.json_lines import Parsed
from adapters.values import text_of

AGENT = "claude-code"
CHAIN_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})
MESSAGE_TYPES = frozenset({"user", "assistant"})
KNOWN_TYPES = CHAIN_TYPES | {
    *("summary", "custom-title", "ai-title", "agent-name", "tag", "last-prompt", "permission-mode", "mode"),
    *("agent-setting", "queue-operation", "file-history-snapshot", "file-history-delta", "pr-link", "bridge-session"),
    *("worktree-state", "content-replacement"),
}


@dataclass(frozen=True, slots=True)
class Told:
    """What the branch rule needs to know of lines that say something, or compact it. Strings are empty where there is none."""

    logical_parent: str = ""
    is_sidechain: bool = False
    is_team: bool = False
    is_meta: bool = False
    agent_id: str = ""
    reply_id: str = ""  # the API's id of an assistant's reply; its lines share it
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    has_result: bool = False
    source: str = ""  # the assistant line a tool result says it belongs to
    timestamp: str = ""
    compaction: Json | None = None


NOTHING_TOLD = Told()


@dataclass(frozen=True, slots=True)
class Line:
    """What the branch rule needs to know of every line. Kept small: there may be a million, most of them progress lines."""

    number: int  # from 1
    problem: str
    is_chained: bool = False  # can it stand in the chain of parents?
    type: str = ""
    subtype: str = ""
    uuid: str = ""
    parent: str = ""
    told: Told = NOTHING_TOLD

    @property
    def is_message(self) -> bool:
        return bool(self.uuid) and self.type in MESSAGE_TYPES


def facts(number: int, parsed: Parsed, once: Callable[[str], str] = str) -> Line:
    """Return what the branch rule needs; a field of the wrong shape counts as absent. `once` gives equal strings as one."""
    if parsed.problem:
        return Line(number, parsed.problem)
    record: Json = parsed.value
    message = record.get("message")
    message = message if isinstance(message, dict) else {}
    kind, uuid = text_of(record, "type"), text_of(record, "uuid")
    can_chain = kind in CHAIN_TYPES or (kind not in KNOWN_TYPES and "parentUuid" in record)
    is_assistant = record.get("type") == "assistant"
    is_chained = bool(uuid) and can_chain
    told = NOTHING_TOLD
    if kind in MESSAGE_TYPES or "logicalParentUuid" in record or "compactMetadata" in record:
        told = _told(record, is_assistant, message, once)
    parent = once(text_of(record, "parentUuid")) if is_chained else ""
    return Line(number, "", is_chained, once(kind), once(_subtype(record)), once(uuid), parent, told)


def _told(record: Json, is_assistant: bool, message: Json, once: Callable[[str], str]) -> Told:
    blocks = blocks_of(message)
    return Told(
        logical_parent=once(text_of(record, "logicalParentUuid")),
        is_sidechain=bool(record.get("isSidechain")),
        is_team=bool(record.get("teamName")),
        is_meta=bool(record.get("isMeta")),
        agent_id=once(text_of(record, "agentId")),
        reply_id=once(text_of(message, "id")) if is_assistant else "",
        calls=_ids(blocks, "tool_use", "id") if is_assistant else (),
        results=_ids(blocks, "tool_result", "tool_use_id"),
        has_result=any(block.get("type") == "tool_result" for block in blocks),
        source=once(text_of(record, "sourceToolAssistantUUID")),
        timestamp=text_of(record, "timestamp"),
        compaction=record["compactMetadata"] if isinstance(record.get("compactMetadata"), dict) else None,
    )


def blocks_of(message: Json) -> list[Json]:
    """The content blocks of a message that are objects; none when its content is a string."""
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _subtype(record: Json) -> str:
    """What kind of system, attachment or progress line it is."""
    inner = record.get("attachment", record.get("data"))
    return text_of(record, "subtype") or (text_of(inner, "type") if isinstance(inner, dict) else "")


def _ids(blocks: list[Json], block_type: str, key: str) -> tuple[str, ...]:
    found = (block.get(key) for block in blocks if block.get("type") == block_type)
    return tuple(value for value in found if isinstance(value, str))
