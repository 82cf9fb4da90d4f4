"""Transcript: a page of messages as structured content within a budget, and as text that a person or model reads.

A message that is too large alone is cut, and says how the rest is got: by `offset` for long content, by its resource for all.
"""

import json
from typing import Any

from transports.mcp.results import BYTES_PER_TOKEN, cut_text, fit, shortened, size_bytes

_CUT_NOTE_BYTES = 600


def page(answer: dict[str, Any], offset: int, max_tokens: int) -> dict[str, Any]:
    """Return a page cut to the budget. `offset`: skip so many characters of the first message's content."""
    messages: list[dict[str, Any]] = answer["messages"]
    if offset and messages:
        messages = [_from_offset(messages[0], offset)]
    kept = fit(messages, max_tokens, _cut_message)
    cut = {**answer, "messages": kept}
    if kept and len(kept) < len(answer["messages"]):
        cut |= {"next_after_seq": kept[-1]["seq"], "has_more": True, "left_out": len(answer["messages"]) - len(kept)}
    return cut


def text(answer: dict[str, Any], max_tokens: int) -> str:
    """Return a page as readable text, with the call that shows what follows."""
    budget = max_tokens * BYTES_PER_TOKEN // 2
    lines = [line for message in answer["messages"] for line in _lines(message)]
    body = "\n".join(lines)
    if len(body.encode("utf-8", "replace")) > budget:
        body = cut_text(body, budget // 4 if not body.isascii() else budget - 200)
    return f"{body}\n{_outlook(answer)}" if body else _outlook(answer)


def _outlook(answer: dict[str, Any]) -> str:
    session_id, after = answer["session_id"], answer["next_after_seq"]
    cut = [message for message in answer["messages"] if "cut" in message]
    notes = [f"Message {message['seq']} was cut. {_how(message)}" for message in cut]
    if answer["has_more"]:
        notes.append(f"More follows: read_session(session_id={session_id!r}, after_seq={after}). Head: {answer['head_seq']}.")
    elif answer["messages"]:
        notes.append(
            f"Up to date. To wait for what comes: read_session(session_id={session_id!r}, after_seq={after}, wait_seconds=25)."
        )
    else:
        notes.append(
            f"Nothing after seq {after} yet. To go on waiting: read_session(session_id={session_id!r}, after_seq={after})."
        )
    return "\n".join(notes)


def _how(message: dict[str, Any]) -> str:
    cut = message["cut"]
    whole = f"All of it: resource {cut['uri']}."
    if "next_offset" not in cut:
        return whole
    call = (
        f"read_session(session_id={message['session_id']!r}, after_seq={message['seq'] - 1}, limit=1, offset={cut['next_offset']})"
    )
    return f"Its content goes on at {cut['next_offset']} of {cut['total_chars']} characters: {call}. {whole}"


def _lines(message: dict[str, Any]) -> list[str]:
    metadata = message.get("metadata") or {}
    by = " ".join(str(metadata[name]) for name in ("agent_source", "model") if isinstance(metadata, dict) and metadata.get(name))
    answers = f" ← {message['tool_call_id']}" if message.get("tool_call_id") else ""
    head = f"#{message['seq']} {message['role']}{answers} ({', '.join(filter(None, (by, message.get('created_at'))))})"
    lines = [head]
    thinking = message.get("thinking")
    if isinstance(thinking, dict) and thinking.get("content"):
        lines.append(f"  [thinking] {thinking['content']}")
    content = content_text(message.get("content"))
    if content:
        lines.append(content)
    for call in message.get("tool_calls") or []:
        function = call.get("function") or {}
        lines.append(f"  → {call.get('id')} {function.get('name')} {function.get('arguments')}")
    return lines


def content_text(content: Any) -> str:
    """Return a message's content as text: parts that are no text as JSON."""
    if isinstance(content, str):
        return content
    if not content:
        return ""
    parts = [part["text"] if isinstance(part, dict) and isinstance(part.get("text"), str) else json.dumps(part) for part in content]
    return "\n".join(parts)


def _from_offset(message: dict[str, Any], offset: int) -> dict[str, Any]:
    """The message with the part of its content that begins at `offset`, as text."""
    content = content_text(message.get("content"))
    rest: dict[str, Any] = {
        key: message[key] for key in ("session_id", "seq", "role", "append_id", "tool_call_id") if key in message
    }
    cut = {"kept_chars": max(0, len(content) - offset), "total_chars": len(content), "from_offset": offset, "uri": _uri(message)}
    return {**rest, "content": content[offset:], "cut": cut}


def _cut_message(message: dict[str, Any], budget: int) -> dict[str, Any]:
    budget -= _CUT_NOTE_BYTES
    content = content_text(message.get("content"))
    before = message.get("cut") or {}
    others = {key: value for key, value in message.items() if key not in ("content", "cut")}
    small = shortened(others, budget // 2)
    room = max(200, budget - size_bytes(small))
    kept = content
    while size_bytes(kept) > room:
        kept = kept[: max(1, len(kept) * room // size_bytes(kept))] if len(kept) > 1 else ""
    start = before.get("from_offset", 0)
    cut: dict[str, Any] = {"kept_chars": len(kept), "total_chars": start + len(content), "uri": _uri(message)}
    if len(kept) < len(content):
        cut["next_offset"] = start + len(kept)
    return {**small, "content": kept, "cut": cut}


def _uri(message: dict[str, Any]) -> str:
    return f"session://{message['session_id']}/messages/{message['seq']}"
