"""What a row keeps of the model's thinking, as the items of a standard message.

`reasoning` and `reasoning_content` are readable (mostly the same text twice); `reasoning_details` are blocks of OpenRouter or
Anthropic, signed or encrypted; `codex_reasoning_items` are encrypted items of OpenAI. What is sealed opens only at home.
"""

from typing import Any

from adapters.conversion import Json
from adapters.hermes.records import json_of
from adapters.leaves import Path
from adapters.said import Copy
from adapters.values import text_of

NO_ITEM = "thinking of a kind that a standard message has no place for"


def read_thinking(row: Json, unsaid: dict[Path, str]) -> tuple[Json | None, list[Copy]]:
    """Return the standard `thinking` of a row, None for none; and what it says verbatim."""
    sealed = _items(row, "reasoning_details", _detail, unsaid) + _items(row, "codex_reasoning_items", _codex, unsaid)
    told = [item["text"] for item in sealed if "text" in item]
    told += ["\n\n".join(told), "".join(told)] if len(told) > 1 else []
    items: list[Json] = []
    copies: list[Copy] = []
    for name in ("reasoning", "reasoning_content"):
        text = row.get(name)
        if text is None:
            continue
        if not isinstance(text, str):
            unsaid[name,] = NO_ITEM
        elif text.strip() and text not in told:
            told.append(text)
            items.append({"text": text})
        place = next((at for at, item in enumerate(items) if item["text"] == text), None)
        if place is not None:
            copies.append(Copy((name,), ("thinking", "items", place, "text")))
    items += sealed
    return (thinking_of(items) if items else None), copies


def thinking_of(items: list[Json]) -> Json:
    texts = [item["text"] for item in items if item.get("text")]
    return {"content": "\n\n".join(texts) or None, "encrypted": len(texts) < len(items), "items": items}


def _items(row: Json, column: str, read: Any, unsaid: dict[Path, str]) -> list[Json]:
    held = row.get(column)
    if held is None:
        return []
    blocks = json_of(held)
    if not isinstance(blocks, list):
        unsaid[column,] = NO_ITEM
        return []
    items = [read(block) if isinstance(block, dict) else {} for block in blocks]
    if not all(items):
        unsaid[column,] = NO_ITEM
    return [item for item in items if item]


def _detail(block: Json) -> Json:
    names = (("text", "text"), ("thinking", "text"), ("summary", "text"), ("data", "data"), ("encrypted_content", "data"))
    item = {name: block[key] for key, name in names if isinstance(block.get(key), str) and block[key]}
    more = {name: block[name] for name in ("signature", "id") if isinstance(block.get(name), str) and block[name]}
    return item | more if item or "signature" in more else {}


def _codex(block: Json) -> Json:
    summary = block.get("summary")
    texts = [text for part in summary if (text := text_of(part, "text"))] if isinstance(summary, list) else []
    item: Json = {"provider": "openai"}
    for name, value in (("text", "\n\n".join(texts)), ("data", text_of(block, "encrypted_content")), ("id", text_of(block, "id"))):
        if value:
            item[name] = value
    return item if len(item) > 1 else {}
