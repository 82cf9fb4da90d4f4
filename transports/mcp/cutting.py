"""Cutting: what is too long for a model's context is given in part, and says what was left out and how it is got.

1. A message says in `cut` what of it was cut, and `read_session` with `field` and `offset` gives the rest, piece by piece.
2. Pieces count in characters of the field's text: of the string, or of the JSON text of a value that is none. Put together they
   are that text exactly.
3. Each piece is at least one character long, so that following them ends.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from eventstore.errors import InvalidRequest
from transports.mcp.tokens import CHARS_PER_TOKEN_MAX, count, fits
from transports.mcp.values import encode

_STRING_CHARS_MIN = 40
_NAME_CHARS_MAX = 80
_NAMES_TOKENS = 80  # what the names of the fields that were cut may take
_NOTE_TOKENS = 240  # what `cut` itself takes
_PIECE_TOKENS_MIN = 40
_WHO = ("session_id", "seq", "role")
_FIRST = (*_WHO, "append_id", "tool_call_id", "created_at")  # kept before any other

Message = dict[str, Any]


def uri_of(session_id: str, message: Message) -> str:
    """Return the resource that has all of a message, as the session gives it that was read: its own may be deleted."""
    return f"session://{session_id}/messages/{message['seq']}"


def text_of(value: Any) -> str:
    """Return the text whose characters pieces count in."""
    return value if isinstance(value, str) else encode(value)


def cost(value: Any, tokens_max: int) -> int:
    """Return how many tokens a value takes as JSON; of one that takes more than `tokens_max`, something above that."""
    chars_max = tokens_max * CHARS_PER_TOKEN_MAX
    if isinstance(value, dict) and any(isinstance(one, str) and len(one) > chars_max for one in value.values()):
        return tokens_max + 1  # without a look at megabytes
    text = encode(value)
    return count(text) if len(text) <= chars_max else tokens_max + 1


def cut_message(session_id: str, message: Message, tokens_max: int) -> Message:
    """Return a message that takes at most `tokens_max` as JSON: half for its content at least, the rest for its other fields."""
    others = {name: message[name] for name in (*_FIRST, *message) if name in message and name != "content"}
    small = _fitting(others, tokens_max // 2)
    cut: dict[str, Any] = {"uri": uri_of(session_id, message)}
    text = text_of(message.get("content", ""))
    kept = _leading_json_chars(text, tokens_max - cost(small, tokens_max) - _NOTE_TOKENS)
    shown = small | ({"content": message["content"]} if "content" in message else {})
    if kept < len(text):
        shown["content"] = text[:kept]
        cut |= {"kept_chars": kept, "total_chars": len(text), "next_offset": kept} | _kind(message, "content")
    lost = _named(name for name, value in others.items() if small.get(name) != value)
    if lost:
        cut["fields"] = {name: len(text_of(others[name])) for name in lost}
    return {**shown, "cut": cut}


def piece_of(session_id: str, message: Message, field: str, offset: int, tokens_max: int) -> Message:
    """Return the piece of a field's text that begins at `offset`: in `content`, or in `cut` for another field.

    Raises InvalidRequest: the message has no such field.
    """
    if field not in message:
        has = ", ".join(sorted(message))[:500]
        raise InvalidRequest(f"Message {message['seq']} has no field {field[:80]!a}; it has: {has}.")
    text = text_of(message[field])
    rest = text[offset:]
    kept = _leading_json_chars(rest, tokens_max - _NOTE_TOKENS)
    cut: dict[str, Any] = {"uri": uri_of(session_id, message), "field": field, "from_offset": offset, "kept_chars": kept}
    cut |= {"total_chars": len(text)} | _kind(message, field)
    if kept < len(rest):
        cut["next_offset"] = offset + kept
    who = _who(message)
    return {**who, "content": rest[:kept], "cut": cut} if field == "content" else {**who, "cut": {**cut, "piece": rest[:kept]}}


def shortened(value: Any, tokens_max: int) -> Any:
    """Return a value with its long strings and lists cut until it takes about `tokens_max` as JSON."""
    chars, items = tokens_max * CHARS_PER_TOKEN_MAX, tokens_max  # no item takes less than a token
    while True:
        short = _cut(value, chars, items)
        if chars <= _STRING_CHARS_MIN or fits(encode(short), tokens_max):
            return short
        chars, items = max(_STRING_CHARS_MIN, chars // 2), max(1, items // 3)


def _fitting(fields: Message, tokens_max: int) -> Message:
    """The fields, shortened to `tokens_max`; where that is not possible, only those that say which message it is."""
    who = _who(fields)
    short: Message = who | shortened(fields, tokens_max)
    return short if fits(encode(short), tokens_max) else who


def _who(message: Message) -> Message:
    """What says which message it is. One that was purged has no role."""
    return {name: message[name] for name in _WHO if name in message}


def _kind(message: Message, field: str) -> dict[str, bool]:
    return {} if isinstance(message.get(field), str) else {"is_json": True}


def _named(names: Iterable[str]) -> list[str]:
    """The leading ones of these names that are short enough to be told."""
    told, left = [], _NAMES_TOKENS
    for name in names:
        left -= count(name[: _NAME_CHARS_MAX + 1])
        if left < 0 or len(name) > _NAME_CHARS_MAX:
            break
        told.append(name)
    return told


def _leading_json_chars(text: str, tokens_max: int) -> int:
    """How many characters at the start of a text take about, and at most, `tokens_max` as a JSON string; at least one."""
    tokens_max = max(tokens_max, _PIECE_TOKENS_MIN)
    kept = min(len(text), tokens_max * CHARS_PER_TOKEN_MAX)
    while kept > 1 and (price := count(encode(text[:kept]))) > tokens_max:
        kept = max(1, kept * tokens_max // price)
    return kept


def _cut(value: Any, chars: int, items: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= chars else f"{value[:chars]}… [{len(value) - chars} more characters]"
    if isinstance(value, dict):
        return {name[:_NAME_CHARS_MAX]: _cut(member, chars, items) for name, member in islice(value.items(), items)}
    if isinstance(value, list):
        rest = [f"… [{len(value) - items} more items]"] if len(value) > items and not isinstance(value[0], dict) else []
        return [_cut(item, chars, items) for item in value[:items]] + rest
    return value
