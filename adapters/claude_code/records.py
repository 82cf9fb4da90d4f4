"""One line of a transcript: its JSON value, and the few facts about it that finding the live branch needs.

A line is kept as a value, numbers by their spelling, so that redaction sees real strings and the way home is exact.
What the hub would not take as a value (a key twice, nesting near its limit) is kept as text instead; bytes that are no
UTF-8, as base64.
"""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from adapters.conversion import Json
from eventstore.errors import InvalidJson
from eventstore.wire import codec

AGENT = "claude-code"
CHAIN_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})
MESSAGE_TYPES = frozenset({"user", "assistant"})
KNOWN_TYPES = CHAIN_TYPES | {
    *("summary", "custom-title", "ai-title", "agent-name", "tag", "last-prompt", "permission-mode", "mode"),
    *("agent-setting", "queue-operation", "file-history-snapshot", "file-history-delta", "pr-link", "bridge-session"),
    *("worktree-state", "content-replacement"),
}
NESTING_MAX = codec.NESTING_MAX - 4  # a record stands at most four levels deep in what is sent

BLANK = "a blank line"
NOT_UTF8 = "not UTF-8"
NOT_JSON = "not JSON"
NOT_OBJECT = "JSON, but no object"
TORN = "the last line is torn: its end was not written"


class Parsed(NamedTuple):
    """A line's text and value. `problem` is empty for an object; `is_exact`: the value stands for the text, which is let go."""

    text: str | None
    value: Any
    problem: str
    is_exact: bool


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


def bare_size(raw: bytes) -> int:
    """How many bytes a line has without its line end."""
    return len(raw) - (2 if raw.endswith(b"\r\n") else 1 if raw.endswith((b"\n", b"\r")) else 0)


def parse_line(raw: bytes | memoryview) -> Parsed:
    """Read one line, without its line end. Never raises."""
    try:
        text = str(raw, "utf-8")
    except UnicodeDecodeError:
        return Parsed(None, None, NOT_UTF8, False)
    if text.isspace() or not text:
        return Parsed(text, None, BLANK, False)
    try:
        value, is_exact = codec.parse(text), _nesting_fits(text)
    except InvalidJson:
        try:
            value, is_exact = _lenient.decode(text), False
        except (ValueError, RecursionError):
            return Parsed(text, None, NOT_JSON, False)
    return Parsed(None if is_exact else text, value, "" if isinstance(value, dict) else NOT_OBJECT, is_exact)


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


def native_record(number: int, raw: bytes | memoryview) -> Json:
    """Return a line as it is kept for the way home: `{line, record}`, or `{line, raw}`, or `{line, base64}`."""
    parsed = parse_line(raw)
    if parsed.is_exact:
        return {"line": number, "record": parsed.value}
    if parsed.text is None:
        return {"line": number, "base64": b64encode(raw).decode("ascii")}
    return {"line": number, "raw": parsed.text}


def text_of(record: Json, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


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


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_lenient = json.JSONDecoder(parse_int=codec.Number, parse_float=codec.Number, parse_constant=_refuse_constant)


def _nesting_fits(text: str) -> bool:
    """Would the hub take this value inside what is sent? Asked of the codec itself, for the few lines it may be."""
    if text.count("[") + text.count("{") <= NESTING_MAX:
        return True
    wrap = codec.NESTING_MAX - NESTING_MAX
    try:
        codec.parse("[" * wrap + text + "]" * wrap)
    except InvalidJson:
        return False
    return True
