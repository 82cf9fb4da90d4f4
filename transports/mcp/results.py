"""Results: readable text beside the structured content, and both short enough for a model's context.

A token is taken as three bytes of UTF-8, which errs on the safe side for prose, code and Chinese. Half of the budget is for the
structured content, half for the text, since clients show a model the one, the other, or both.
"""

import json
from collections.abc import Callable
from typing import Any

import mcp_types as types

TOKENS_DEFAULT = 8000
TOKENS_MAX = 200_000
BYTES_PER_TOKEN = 3
_ENVELOPE_BYTES = 1500  # names, cursors and notes around the items
_STRING_CHARS_MIN = 40


def result(text: str, structured: dict[str, Any]) -> types.CallToolResult:
    """Return a tool's answer."""
    clean: dict[str, Any] = sendable(structured)
    return types.CallToolResult(content=[types.TextContent(type="text", text=sendable(text))], structured_content=clean)


def failure(text: str) -> types.CallToolResult:
    """Return a tool's refusal, for the model to read and act on."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=sendable(text))], is_error=True)


def fit(
    items: list[dict[str, Any]], max_tokens: int, shorten: Callable[[dict[str, Any], int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the leading items that fit half of the budget, at least one: a first one that is too large is shortened."""
    budget = max_tokens * BYTES_PER_TOKEN // 2 - _ENVELOPE_BYTES
    kept: list[dict[str, Any]] = []
    for item in items:
        size = size_bytes(item)
        if size > budget and not kept:
            return [shorten(item, budget)]
        if size > budget:
            break
        budget -= size
        kept.append(item)
    return kept


def size_bytes(value: Any) -> int:
    """How many bytes a value takes as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def shortened(value: Any, budget: int) -> Any:
    """Return a value with its long strings and lists cut until it takes at most about `budget` bytes of JSON."""
    chars, count = budget, 10_000
    while True:
        cut = _cut(value, chars, count)
        if size_bytes(cut) <= budget or chars <= _STRING_CHARS_MIN:
            return cut
        chars, count = chars // 2, max(1, count // 3)


def cut_text(text: str, chars: int) -> str:
    """Return the start of a text, with how much was left out."""
    return text if len(text) <= chars else f"{text[:chars]}… [{len(text) - chars} more characters]"


def _cut(value: Any, chars: int, count: int) -> Any:
    if isinstance(value, str):
        return cut_text(value, chars)
    if isinstance(value, dict):
        return {key[:200]: _cut(item, chars, count) for key, item in list(value.items())[:count]}
    if isinstance(value, list):
        rest = [f"… [{len(value) - count} more items]"] if len(value) > count and not isinstance(value[0], dict) else []
        return [_cut(item, chars, count) for item in value[:count]] + rest
    return value


def sendable(value: Any) -> Any:
    """Return the value as the SDK's JSON can carry it: without lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    return [sendable(item) for item in value] if isinstance(value, list) else value
