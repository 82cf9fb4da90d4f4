"""Transcript: a page of messages as structured content, and as text that a person or model reads, both within one budget.

What was said is in both, since clients show a model the one, the other, or both.
"""

from typing import Any

from transports.mcp.cutting import Message, cost, cut_message, piece_of
from transports.mcp.results import room
from transports.mcp.tokens import count
from transports.mcp.values import encode


def page(answer: dict[str, Any], max_tokens: int) -> tuple[dict[str, Any], str]:
    """Return the leading messages of a page that fit, at least one, and the text. A first one too large alone is cut."""
    left, kept, blocks = room(max_tokens), list[Message](), list[str]()
    for message in answer["messages"]:
        price = cost(message, left)
        block = _block(message) if price <= left else ""
        price += count(block)
        if price > left and kept:
            break
        if price > left:
            message = cut_message(answer["session_id"], message, left // 2)
            block = _block(message)
        left -= price
        kept.append(message)
        blocks.append(block)
    return _shown(answer, kept, blocks)


def piece(answer: dict[str, Any], field: str, offset: int, max_tokens: int) -> tuple[dict[str, Any], str]:
    """Return a piece of the first message of a page, as `cutting.piece_of` gives it. Raises InvalidRequest."""
    if not answer["messages"]:
        return _shown(answer, [], [])
    message = piece_of(answer["session_id"], answer["messages"][0], field, offset, room(max_tokens) // 2)
    cut = message["cut"]
    to = cut["from_offset"] + cut["kept_chars"]
    place = f"characters {cut['from_offset']} to {to} of {cut['total_chars']}"
    head = f"#{message['seq']} {message.get('role', '')}: {field[:80]}, {place}"
    return _shown(answer, [message], [f"{head}\n{cut.get('piece', message.get('content'))}"])


def _shown(answer: dict[str, Any], kept: list[Message], blocks: list[str]) -> tuple[dict[str, Any], str]:
    """The page with the messages that are shown, and its text with the calls that give the rest."""
    shown = {**answer, "messages": kept}
    left_out = len(answer["messages"]) - len(kept)
    if left_out:
        shown |= {"next_after_seq": kept[-1]["seq"], "has_more": True, "left_out": left_out}
    return shown, "\n".join([*blocks, *_outlook(shown)])


def _outlook(answer: dict[str, Any]) -> list[str]:
    session_id, after = answer["session_id"], answer["next_after_seq"]
    notes = [note for message in answer["messages"] if "cut" in message for note in _how_to_go_on(session_id, message)]
    call = f"read_session(session_id={session_id!r}, after_seq={after}"
    if answer["has_more"]:
        return [*notes, f"More follows: {call}). Head: {answer['head_seq']}."]
    if answer["messages"]:
        return [*notes, f"Up to date. To wait for what comes: {call}, wait_seconds=25)."]
    return [f"Nothing after seq {after} yet. To go on waiting: {call})."]


def _how_to_go_on(session_id: str, message: Message) -> list[str]:
    """The call that gives what was cut of a message."""
    cut = message["cut"]
    ways = [f"field={name!a}, offset=0) for {chars} characters" for name, chars in cut.get("fields", {}).items()]
    if "next_offset" in cut:
        field = f"field={cut['field']!a}, " if cut.get("field", "content") != "content" else ""
        ways.insert(0, f"{field}offset={cut['next_offset']}) of {cut['total_chars']} characters")
    if not ways:
        return []
    first, *others = ways
    call = f"read_session(session_id={session_id!r}, after_seq={message['seq'] - 1}, limit=1, {first}"
    more = "".join(f"; or ({way}" for way in others)
    return [f"Message {message['seq']} was cut. It goes on with {call}{more}. All of it: resource {cut['uri']}."]


def _block(message: Message) -> str:
    """A message as text."""
    if message.get("purged") is True and "role" not in message:
        return f"#{message['seq']} was purged: what was said here is gone."
    metadata = message.get("metadata") or {}
    by = " ".join(str(metadata[name]) for name in ("agent_source", "model") if metadata.get(name))
    answers = f" ← {message['tool_call_id']}" if message.get("tool_call_id") else ""
    lines = [f"#{message['seq']} {message['role']}{answers} ({', '.join(filter(None, (by, message.get('created_at'))))})"]
    thinking = (message.get("thinking") or {}).get("content")
    if thinking:
        lines.append(f"  [thinking] {thinking}")
    content = _content(message.get("content"))
    if content:
        lines.append(content)
    for call in message.get("tool_calls") or []:
        lines.append(
            f"  → {call.get('id')} {(call.get('function') or {}).get('name')} {(call.get('function') or {}).get('arguments')}"
        )
    return "\n".join(lines)


def _content(content: Any) -> str:
    """A message's content as text: parts that are no text as JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part["text"] if isinstance(part.get("text"), str) else encode(part) for part in content)
