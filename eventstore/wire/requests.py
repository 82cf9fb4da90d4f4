"""Requests: what the bodies of the API may be, checked; each keeps its own text."""

import re
from dataclasses import dataclass
from typing import Any

from eventstore.errors import InvalidMessage, InvalidRequest, StoreError, TooLarge
from eventstore.wire.codec import Document, Number, canonical, items, parse_object
from eventstore.wire.message import SERVER_FIELDS, check_append_id, check_message

PROJECT_ID_CHARS_MAX = 200
_unstorable = re.compile("[\0-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Body:
    """The checked body of a request: its text, what of it is hashed to know a repeat, and its idempotency key."""

    document: Document
    canonical: str
    append_id: str | None

    def text(self, name: str) -> str | None:
        """A string member, None where it is absent or null."""
        value = self.document.fields.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int | None:
        value = self.document.fields.get(name)
        return value.as_int() if isinstance(value, Number) else None


@dataclass(frozen=True, slots=True)
class MessagesBody:
    """Messages to append, in order; `is_list`: they came as a list and are answered as one."""

    messages: list[Body]
    expected_seq: int | None
    is_list: bool


def messages_body(text: str, messages_max: int) -> MessagesBody:
    """Return the messages of a body: one message, or `{messages: [...], expected_seq?}`.

    Raises InvalidJson, InvalidMessage (with the `index` of the message), InvalidRequest.
    """
    document = parse_object(text)
    if "messages" not in document.fields or "role" in document.fields:
        return MessagesBody([_message(document)], None, False)
    _only(document, {"messages", "expected_seq"})
    if not isinstance(document.fields["messages"], list) or not document.fields["messages"]:
        raise InvalidRequest("`messages` must be a list of at least one message.")
    if len(document.fields["messages"]) > messages_max:
        raise TooLarge(
            f"{len(document.fields['messages'])} messages in one request; at most {messages_max} are taken. Send several.",
            limit="request_messages_max",
            value=messages_max,
        )
    bodies = [_numbered(index, source) for index, source in enumerate(items(document.source("messages")))]
    return MessagesBody(bodies, _seq(document.fields.get("expected_seq"), "expected_seq"), True)


def session_body(text: str) -> Body:
    """`{project_id, meta?, append_id?}`. Raises InvalidJson, InvalidRequest."""
    body = _body(text, {"project_id", "meta", "append_id"})
    check_project_id(body.document.fields.get("project_id"))
    _object_or_absent(body.document, "meta")
    return body


def fork_body(text: str) -> Body:
    """`{project_id?, meta?, append_id?}`; an empty text is an empty object. Raises InvalidJson, InvalidRequest."""
    body = _body(text or "{}", {"project_id", "meta", "append_id"})
    if body.document.fields.get("project_id") is not None:
        check_project_id(body.document.fields["project_id"])
    _object_or_absent(body.document, "meta")
    return body


def meta_body(text: str) -> Body:
    """A merge patch of a session's meta (RFC 7396): an object. Raises InvalidJson."""
    document = parse_object(text)
    return Body(document, canonical(document.fields), None)


def snapshot_body(text: str) -> Body:
    """`{session_id, commit_msg?, up_to_seq?, meta?, append_id?}`. Raises InvalidJson, InvalidRequest."""
    body = _body(text, {"session_id", "commit_msg", "up_to_seq", "meta", "append_id"})
    if body.text("session_id") is None:
        raise InvalidRequest("`session_id` is needed: the session to take a snapshot of.")
    if not isinstance(body.document.fields.get("commit_msg", ""), str | None):
        raise InvalidRequest("`commit_msg` must be a string.")
    _seq(body.document.fields.get("up_to_seq"), "up_to_seq")
    _object_or_absent(body.document, "meta")
    return body


def native_body(text: str) -> Body:
    """`{agent, version, records, append_id?}`. Raises InvalidJson, InvalidRequest."""
    body = _body(text, {"agent", "version", "records", "append_id"})
    if not body.text("agent") or not isinstance(body.document.fields.get("version", ""), str | None):
        raise InvalidRequest("`agent` must name the agent that the records come from, `version` be its version, both strings.")
    if not isinstance(body.document.fields.get("records"), list):
        raise InvalidRequest("`records` must be a list.")
    return body


def purge_body(text: str) -> tuple[str | None, int | None]:
    """`{session_id}` or `{seq}`: what to purge. Raises InvalidJson, InvalidRequest."""
    body = _body(text, {"session_id", "seq"})
    session_id, seq = body.text("session_id"), _seq(body.document.fields.get("seq"), "seq")
    if (session_id is None) == (seq is None):
        raise InvalidRequest("Give either `session_id` or `seq`: what to purge.")
    return session_id, seq


def check_project_id(value: Any) -> str:
    """Return a project's id if it can be one: 1-200 characters, no control characters. Raises InvalidRequest."""
    if not isinstance(value, str) or not 1 <= len(value) <= PROJECT_ID_CHARS_MAX or _unstorable.search(value):
        raise InvalidRequest(f"`project_id` must be a string of 1 to {PROJECT_ID_CHARS_MAX} characters without control characters.")
    return value


def _message(document: Document) -> Body:
    check_message(document)
    hashed = {k: v for k, v in document.fields.items() if k not in SERVER_FIELDS and k != "append_id"}
    return Body(document, canonical(hashed), document.fields.get("append_id"))


def _numbered(index: int, source: str) -> Body:
    try:
        return _message(parse_object(source))
    except StoreError as error:
        raise type(error)(f"messages[{index}]: {error.detail}", **error.facts, index=index) from None


def _body(text: str, names: set[str]) -> Body:
    document = parse_object(text)
    _only(document, names)
    append_id = document.fields.get("append_id")
    if append_id is not None:
        try:
            check_append_id(append_id)
        except InvalidMessage as error:
            raise InvalidRequest(error.detail) from None
    hashed = {k: v for k, v in document.fields.items() if k != "append_id"}
    return Body(document, canonical(hashed), append_id)


def _only(document: Document, names: set[str]) -> None:
    unknown = sorted(set(document.fields) - names)
    if unknown:
        raise InvalidRequest(f"Unknown member {unknown[0][:80]!a}; known here: {', '.join(sorted(names))}.")


def _object_or_absent(document: Document, name: str) -> None:
    if not isinstance(document.fields.get(name), dict | None):
        raise InvalidRequest(f"`{name}` must be a JSON object.")


def _seq(value: Any, name: str) -> int | None:
    if value is None:
        return None
    number = value.as_int() if isinstance(value, Number) else None
    if number is None or number < 0:
        raise InvalidRequest(f"`{name}` must be a whole number from 0.")
    return number
