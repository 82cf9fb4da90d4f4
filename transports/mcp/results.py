"""Results: readable text beside the structured content, compact, and what both may cost of a model's context."""

from collections.abc import Callable
from typing import Any

import mcp_types as types

from transports.mcp.cutting import cost, shortened
from transports.mcp.tokens import count
from transports.mcp.values import NOTE, carried, encode

TOKENS_DEFAULT = 8000
TOKENS_MIN, TOKENS_MAX = 2000, 100_000  # SDKs take no event over 1 MiB, which a result may be
ENVELOPE_TOKENS = 900  # names, cursors and notes around the items
_LINE_CHARS = 200


def room(max_tokens: int) -> int:
    """Return what is left of a budget for the items themselves, text and structured content together."""
    return max_tokens - min(ENVELOPE_TOKENS, max_tokens // 3)


def result(text: str, structured: dict[str, Any]) -> types.CallToolResult:
    """Return a tool's answer. It says so if something in it could not be carried over MCP."""
    clean, is_changed = carried(structured)
    clean_text, is_text_changed = carried(text)
    if is_changed or is_text_changed:
        clean["note"] = NOTE
        clean_text += f"\n{NOTE}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=clean_text)], structured_content=clean)


def failure(text: str) -> types.CallToolResult:
    """Return a tool's refusal, for the model to read and act on."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=carried(text)[0])], is_error=True)


def page_of(
    answer: dict[str, Any], name: str, line_of: Callable[[dict[str, Any]], str], nothing: str, max_tokens: int = TOKENS_DEFAULT
) -> types.CallToolResult:
    """Return a list answer within the budget: the leading items that fit, at least one. An item too large alone is cut and says so.

    `next` is left out at the end of the list, since null would need a union in the schema.
    """
    left, kept, lines = room(max_tokens), list[dict[str, Any]](), list[str]()
    for item in answer[name]:
        line = line_of(item)[:_LINE_CHARS]
        price = cost(item, left) + count(line)
        if price > left and kept:
            break
        if price > left:
            uri = f"session://{item['session_id']}"
            item = {**shortened(item, left // 2), "cut": {"uri": uri}}
            line += f" · cut here, all of it: resource {uri}"
        left -= price
        kept.append(item)
        lines.append(line)
    page: dict[str, Any] = {name: kept}
    if len(kept) < len(answer[name]):
        page |= {"next": str(kept[-1]["seq"]), "left_out": len(answer[name]) - len(kept)}
    elif answer.get("next"):
        page["next"] = answer["next"]
    more = f"\nMore follows: call again with cursor={page['next']!r}." if "next" in page else ""
    return result(("\n".join(lines) or nothing) + more, page)


def with_short(answer: dict[str, Any], name: str, uri: str, max_tokens: int = TOKENS_DEFAULT) -> tuple[dict[str, Any], str]:
    """Return an answer whose field `name` is cut to the budget, and what to say about it."""
    short = shortened(answer[name], room(max_tokens))
    if encode(short) == encode(answer[name]):
        return answer, ""
    return {**answer, name: short, "cut": {"uri": uri}}, f" The {name} shown is cut; all of it: resource {uri}."
