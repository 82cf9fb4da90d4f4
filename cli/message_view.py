"""A message as a person reads it: who, when, what was said; calls with their arguments, long results cut with a count."""

import json
from typing import Any

from cli.terminal import Screen, counted, moment, number, one_line, safe, shorten
from eventstore.wire.codec import dump, parse

RESULT_LINES, RESULT_CHARS = 10, 1500
THINKING_LINES, THINKING_CHARS = 8, 800
ARGUMENT_LINES, ARGUMENT_CHARS = 6, 600
INDENT = 4
_ROLE_STYLE = {"system": "bold magenta", "user": "bold green", "assistant": "bold cyan", "tool": "bold yellow"}

Json = dict[str, Any]


class MessageView:
    """Shows the messages of one session, in order: a result is shown with the name of the call it answers."""

    def __init__(self, screen: Screen, session_id: str, is_full: bool = False) -> None:
        self._screen, self._session_id, self._is_full = screen, session_id, is_full
        self._names: dict[str, str] = {}

    def show(self, source: str) -> None:
        """Show one message, given as the JSON text that the hub sent."""
        message: Json = parse(source)
        self._head(message)
        thinking = message.get("thinking")
        if isinstance(thinking, dict):
            self._text(thinking_text(thinking), THINKING_LINES, THINKING_CHARS, "dim")
        text = content_text(message.get("content"))
        if message.get("role") == "tool":
            self._text(text, RESULT_LINES, RESULT_CHARS)
        elif text.strip():
            self._screen.block(text.strip("\n"), INDENT)
        for call in message.get("tool_calls") or []:
            self._call(call)
        if not (text.strip() or message.get("tool_calls") or isinstance(thinking, dict)):
            self._screen.block("(purged)" if message.get("purged") is True else "(empty)", INDENT, "dim")
        self._screen.line()

    def _head(self, message: Json) -> None:
        screen, role = self._screen, str(message.get("role", ""))
        metadata = message.get("metadata")
        facts = [moment(message.get("created_at"))]
        if role == "tool":
            call_id = str(message.get("tool_call_id"))
            facts.append(self._names.get(call_id, one_line(call_id, 40)))
        facts += remarks(role, metadata if isinstance(metadata, dict) else {})
        if message.get("session_id") != self._session_id:
            facts.append("inherited")
        head = f"{number(message.get('seq')):<{INDENT - 1}} {screen.styled(role, _ROLE_STYLE.get(role, 'bold'))}"
        screen.line(f"{head}  {screen.styled(' · '.join(facts), 'dim')}")

    def _call(self, call: Any) -> None:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return
        name = one_line(str(function.get("name")), 60)
        self._names[str(call.get("id"))] = name
        self._screen.line(" " * INDENT + self._screen.styled(f"→ {name}", "bold blue"))
        for key, value in arguments_of(str(function.get("arguments", ""))):
            prefix = f"{safe(key)}: " if key else ""
            self._text(prefix + ("\n" + value if "\n" in value and key else value), ARGUMENT_LINES, ARGUMENT_CHARS, "", 2)

    def _text(self, text: str, lines_max: int, chars_max: int, style: str = "", deeper: int = 0) -> None:
        if not text.strip():
            return
        shown, rest = (text.strip("\n"), "") if self._is_full else shorten(text, lines_max, chars_max)
        self._screen.block(shown, INDENT + deeper, style)
        if rest:
            self._screen.block(f"{rest} (--full)", INDENT + deeper, "dim")


def remarks(role: str, metadata: Json) -> list[str]:
    """What stands beside a message's time: whose words it is, and what is unusual about it."""
    origin, status = metadata.get("origin"), metadata.get("status")
    subagent, redactions = metadata.get("subagent"), metadata.get("redactions")
    said = [
        str(metadata.get("model") or metadata.get("agent_source") or "") if role == "assistant" else "",
        "written by the harness" if origin == "harness" else "",
        "error" if metadata.get("is_error") is True or status == "error" else "",
        "interrupted" if status == "interrupted" else "",
        f"sub-agent {subagent['agent_id']}" if isinstance(subagent, dict) and "agent_id" in subagent else "",
        f"{counted(sum(map(number, redactions.values())), 'secret')} taken out" if isinstance(redactions, dict) else "",
    ]
    return [one_line(text, 60) for text in said if text]


def content_text(content: Any) -> str:
    """The text of a content; of what is no text, its kind and size."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(_part_text(part) for part in content)


def thinking_text(thinking: Json) -> str:
    """What can be read of a thinking."""
    content = thinking.get("content")
    if isinstance(content, str) and content.strip():
        return content
    items = thinking.get("items")
    texts = [str(item["text"]) for item in items if isinstance(item, dict) and item.get("text")] if isinstance(items, list) else []
    return "\n".join(texts) or "[thinking that only its provider can read]"


def arguments_of(raw: str) -> list[tuple[str, str]]:
    """A call's arguments, name and value; what is no object, as it is, under no name."""
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        return [("", raw)]
    if not isinstance(values, dict):
        return [("", raw)]
    return [(name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) for name, value in values.items()]


def _part_text(part: Any) -> str:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("type", "part")) if isinstance(part, dict) else "part"
    return f"[{kind}, {counted(len(dump(part)), 'character')}]"
