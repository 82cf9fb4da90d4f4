"""The standard message, schema_version 1: what a client may send, checked; what is stored of it, spliced.

OpenAI's chat message with `thinking`, `metadata` and `native` beside it. Unknown fields are kept; these types are also
the source of the JSON Schema that is served.
"""

import re
from typing import Any, Literal

import msgspec

from eventstore.errors import InvalidMessage, UnsupportedSchemaVersion
from eventstore.wire.codec import Document, Number, dump, parse_object, quote

SCHEMA_VERSION = 1
APPEND_ID_CHARS_MAX = 200
SERVER_FIELDS = frozenset({"session_id", "seq"})

AppendId = msgspec.Meta(min_length=1, max_length=APPEND_ID_CHARS_MAX, description="The writer's idempotency key.")
_rfc3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_unstorable = re.compile("[\0\ud800-\udfff]")


class Part(msgspec.Struct):
    """One part of a content list, as OpenAI has it; other types and fields are kept as they are."""

    type: str
    text: str | None = None


class Function(msgspec.Struct):
    name: str
    arguments: str


class ToolCall(msgspec.Struct):
    """A call the model made; `arguments` is the raw string, valid JSON or not."""

    id: str
    function: Function
    type: Literal["function"] = "function"


class ThinkingItem(msgspec.Struct):
    text: str | None = None
    data: str | None = None
    signature: str | None = None
    provider: str | None = None
    model: str | None = None
    id: str | None = None


class Thinking(msgspec.Struct):
    """Thinking of the model; never promised readable."""

    content: str | None = None
    encrypted: bool = False
    items: list[ThinkingItem] | None = None


class Message(msgspec.Struct):
    """A standard message as a client sends it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[Part] | None = None
    schema_version: int = SCHEMA_VERSION
    append_id: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    thinking: Thinking | None = None
    created_at: str | None = None
    metadata: dict[str, Any] | None = None
    native: dict[str, Any] | None = None


def check_message(document: Document) -> None:
    """Raise InvalidMessage or UnsupportedSchemaVersion unless the document is a standard message."""
    fields = dict(document.fields)
    version = fields.pop("schema_version", None)
    if version is not None:
        _check_version(version)
    message = _converted(fields)
    if message.role == "tool" and not message.tool_call_id:
        raise InvalidMessage("A message of role tool needs `tool_call_id`, the id of the call it answers.")
    if message.tool_calls and message.role != "assistant":
        raise InvalidMessage(f"Only an assistant makes tool calls; this message has role {message.role}.")
    if fields.get("append_id") is not None:
        check_append_id(fields["append_id"])
    if message.created_at is not None and not _rfc3339.fullmatch(message.created_at):
        raise InvalidMessage("`created_at` must be an RFC 3339 time with an offset, like 2026-11-30T08:00:00Z.")


def check_append_id(append_id: Any) -> str:
    """Return a writer's idempotency key if it can be one: 1-200 characters, without NUL and lone surrogates."""
    if not isinstance(append_id, str) or not 1 <= len(append_id) <= APPEND_ID_CHARS_MAX or _unstorable.search(append_id):
        raise InvalidMessage(
            f"`append_id` must be a string of 1 to {APPEND_ID_CHARS_MAX} characters, without NUL and lone surrogates."
        )
    return append_id


def stored_message(document: Document, append_id: str, created_at: str, metadata: dict[str, Any]) -> str:
    """Return the text to store: the client's members as they came, what the server fills in before them.

    `metadata` is put into the client's own where it lacks the key. `native` and the server's fields are left out.
    """
    first: dict[str, str] = {}
    if document.fields.get("append_id") is None:
        first["append_id"] = quote(append_id)
    if document.fields.get("created_at") is None:
        first["created_at"] = quote(created_at)
    own = document.fields.get("metadata")
    missing = {key: value for key, value in metadata.items() if key not in (own or {})}
    if own is None:
        first["metadata"] = dump(missing)
    elif missing:
        added = {key: dump(value) for key, value in missing.items()}
        first["metadata"] = parse_object(document.source("metadata")).with_members(added)
    return document.with_members(first, SERVER_FIELDS | {"native"})


def served_message(session_id: str, seq: int, stored: bytes) -> bytes:
    """Return a message as it is read: the server's fields spliced in before the stored ones."""
    return b'{"session_id":"%b","seq":%d,%b' % (session_id.encode(), seq, stored[1:])


def with_native(message: bytes, native: bytes | None) -> bytes:
    """Return a served message with its `native` at the end."""
    return message if native is None else b'%b,"native":%b}' % (message[:-1], native)


def message_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a message as it is read."""
    schema = msgspec.json.schema(Message)
    definition = schema["$defs"]["Message"]
    definition["properties"] |= {
        "session_id": {"type": "string", "description": "Set by the server; a client's is dropped."},
        "seq": {"type": "integer", "minimum": 1, "description": "Set by the server: place in the log."},
    }
    definition["properties"]["append_id"] |= {"minLength": 1, "maxLength": APPEND_ID_CHARS_MAX}
    definition["properties"]["created_at"] |= {"format": "date-time"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Tasuki standard message", **schema}


def _converted(fields: dict[str, Any]) -> Message:
    """The fields as a message. msgspec compares names and enums as UTF-8, which a lone surrogate has none of: it is shown a
    stand-in there. Raises InvalidMessage."""
    try:
        try:
            return msgspec.convert(fields, Message)
        except UnicodeEncodeError:
            return msgspec.convert(_without_surrogates(fields), Message)
    except msgspec.ValidationError as error:
        raise InvalidMessage(f"{error}.") from None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _unstorable.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(member) for name, member in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


def _check_version(version: Any) -> None:
    number = version.as_int() if isinstance(version, Number) else None
    if number is None or number < 1:
        raise InvalidMessage("`schema_version` must be a whole number from 1.")
    if number > SCHEMA_VERSION:
        raise UnsupportedSchemaVersion(
            f"The message has schema_version {number}; this hub knows {SCHEMA_VERSION}. Upgrade the hub or send an older version.",
            supported=SCHEMA_VERSION,
        )
