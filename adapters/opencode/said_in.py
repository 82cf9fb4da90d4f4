"""What a foreign message says, as OpenCode's parts; every leaf that is said less well, or not at all, is noted with the reason.

Thinking that is signed or encrypted is written for no one else. Readable thinking has its place, a reasoning part; OpenCode shows
it, and sends it as plain text to another model than the one that thought it, as it does with its own.
"""

import re
from collections.abc import Iterator
from typing import Any

from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import Fate, Path, leaves
from adapters.opencode.records import is_number
from adapters.values import object_of, text_of
from eventstore.errors import InvalidJson
from eventstore.wire import codec

INTERRUPTED = "[Tool execution was interrupted]"
ORPHAN = "[Result of a tool call that is not part of this session]"
UNSIGNED_ONLY = Fate("dropped", "signed or encrypted thinking: only the agent and provider that it came from can use it")
AS_TEXT = Fate("degraded", "readable thinking: OpenCode sends it as plain text to another model than the one that thought it")
BY_ITEMS = Fate("dropped", "thinking that its items say otherwise: the items are written")
NO_ITEM_FIELD = Fate("dropped", "reasoning has no place for it")
NO_PART_FIELD = Fate("dropped", "a part of OpenCode's has no place for it")
NOT_OBJECT = Fate("degraded", 'arguments that are no JSON object: written as {"arguments": <the text>}')
NO_PART = Fate("dropped", "OpenCode has no part for this kind of content")
NOT_SENT = Fate("degraded", "kept and shown, but OpenCode does not send it to the model")
EMPTY = Fate("degraded", "an empty text is not written")
JOINED = Fate("degraded", "several texts are one, joined by line ends")
_data_url = re.compile(r"data:([\w.+-]+/[\w.+-]+)")
_by_suffix = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


def shown_parts(message: Json, notes: Notes) -> list[Json]:
    """The text and file parts of a user's or an assistant's content, without ids."""
    content = message.get("content")
    is_user = message["role"] == "user"
    if isinstance(content, str):
        if not content and not is_user:
            notes["content",] = EMPTY
            return []
        return [{"type": "text", "text": content}]
    parts: list[Json] = []
    for index, item in enumerate(content or ()):
        place: Path = ("content", index)
        part = _part(item, place, notes)
        if part is None:
            continue
        if part["type"] == "text" and not part["text"] and not is_user:
            notes[place] = EMPTY
            continue
        if part["type"] == "file" and (not is_user or part["mime"] == "text/plain"):
            notes[place] = NOT_SENT
        parts.append(part)
    return parts


def reasoning_parts(message: Json, is_same_model: bool, notes: Notes) -> list[Json]:
    """The reasoning parts of an assistant's thinking, without ids and times."""
    thinking = message.get("thinking")
    if not isinstance(thinking, dict):
        return []
    items = thinking.get("items")
    if not isinstance(items, list) or not items:
        text = thinking.get("content")
        if thinking.get("encrypted") is True:
            notes["thinking",] = UNSIGNED_ONLY
            return []
        if not isinstance(text, str) or not text:
            return []
        _note_readable(("thinking", "content"), is_same_model, notes)
        return [{"type": "reasoning", "text": text}]
    of = (provider_of(message), text_of(object_of(message, "metadata"), "model"))
    parts = [part for index, item in enumerate(items) if (part := _reasoning(item, index, of, is_same_model, notes))]
    if len(parts) < len(items):
        notes["thinking", "content"] = notes["thinking", "encrypted"] = UNSIGNED_ONLY
    elif thinking.get("content") not in (None, "", "\n\n".join(part["text"] for part in parts)):
        notes["thinking", "content"] = BY_ITEMS
    return parts


def call_input(call: Json, index: int, notes: Notes) -> Json:
    """The arguments as the object that OpenCode wants."""
    raw = call["function"]["arguments"]
    try:
        value = codec.parse(raw)
    except InvalidJson:
        value = None
    if isinstance(value, dict):
        return value
    notes["tool_calls", index, "function", "arguments"] = NOT_OBJECT
    return {"arguments": raw} if raw.strip() else {}


def result_state(message: Json, value: Json, name: str, notes: Notes) -> Json:
    """The state of a tool part whose result this message is, without times; attachments without ids."""
    text, files = result_content(message, notes)
    metadata = object_of(message, "metadata")
    told = metadata.get("is_error")
    if told is True or (not isinstance(told, bool) and metadata.get("status") == "error"):
        for place, _ in files:
            notes[place] = Fate("dropped", "a failed call holds text only")
        return {"status": "error", "input": value, "error": text}
    state: Json = {"status": "completed", "input": value, "output": text, "title": name, "metadata": {}}
    if files:
        state["attachments"] = [part for _, part in files]
    return state


def result_content(message: Json, notes: Notes) -> tuple[str, list[tuple[Path, Json]]]:
    """A result's text, and its files, each with its place."""
    content = message.get("content")
    if not isinstance(content, list):
        return content or "", []
    texts: list[tuple[Path, str]] = []
    files: list[tuple[Path, Json]] = []
    for index, item in enumerate(content):
        part = _part(item, ("content", index), notes)
        if part is not None and part["type"] == "text":
            texts.append((("content", index, "text"), part["text"]))
        elif part is not None:
            files.append((("content", index), part))
    if len(texts) > 1:
        notes.update({place: JOINED for place, _ in texts})
    return "\n".join(text for _, text in texts), files


def tokens_of(usage: Any) -> Json:
    """Token counts as OpenCode has them; what is no whole number counts as none."""

    def count(name: str) -> Any:
        value = usage.get(name) if isinstance(usage, dict) else None
        return value if is_count(value) else 0

    return {
        "input": count("input_tokens"),
        "output": count("output_tokens"),
        "reasoning": count("reasoning_tokens"),
        "cache": {"read": count("cache_read_input_tokens"), "write": count("cache_creation_input_tokens")},
    }


def is_count(value: Any) -> bool:
    """Is it a whole number that JavaScript can hold?"""
    return is_number(value) and str(value).isdigit() and len(str(value)) <= 15


def texts_in(message: Json) -> Iterator[str]:
    """The texts of a content, in order."""
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for item in content if isinstance(content, list) else ():
        if text := text_of(item, "text"):
            yield text


def _reasoning(item: Any, index: int, of: tuple[str, str], is_same_model: bool, notes: Notes) -> Json | None:
    place: Path = ("thinking", "items", index)
    text = text_of(item, "text")
    if not text or item.get("signature") is not None or item.get("data") is not None:
        notes[place] = UNSIGNED_ONLY
        return None
    _note_readable((*place, "text"), is_same_model, notes)
    said = {"text": text, "provider": of[0], "model": of[1], "signature": None, "data": None}
    for key, value in item.items():
        if key not in said or value != said[key]:
            notes[*place, key] = NO_ITEM_FIELD
    return {"type": "reasoning", "text": text}


def provider_of(message: Json) -> str:
    """Whose model said it, as far as the message tells."""
    provider = text_of(object_of(message, "metadata"), "provider")
    items = object_of(message, "thinking").get("items")
    named = (text_of(item, "provider") for item in items) if isinstance(items, list) else iter(())
    return provider or next((name for name in named if name), "")


def _note_readable(place: Path, is_same_model: bool, notes: Notes) -> None:
    if not is_same_model:
        notes[place] = AS_TEXT


def _part(item: Any, place: Path, notes: Notes) -> Json | None:
    made = _made(item)
    if made is None:
        notes[place] = NO_PART
        return None
    part, said = made
    for path, _ in leaves(item):
        if path not in said:
            notes[*place, *path] = NO_PART_FIELD
    return part


def _made(item: Any) -> tuple[Json, set[Path]] | None:
    """The part, and the leaves of the item that it says."""
    match item:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}, {("type",), ("text",)}
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return {"type": "file", "mime": _mime(url, "image/png"), "url": url}, {("type",), ("image_url", "url")}
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(form)}}:
            part = {"type": "file", "mime": f"audio/{form}", "url": f"data:audio/{form};base64,{data}"}
            return part, {("type",), ("input_audio", "data"), ("input_audio", "format")}
        case {"type": "file", "file": {"file_data": str(data)}} if data.startswith("data:"):
            name = text_of(item["file"], "filename")
            part = {"type": "file", "mime": _mime(data, "application/octet-stream"), "url": data}
            said: set[Path] = {("type",), ("file", "file_data"), ("file", "filename")}
            return part | ({"filename": name} if name else {}), said
    return None


def _mime(url: str, otherwise: str) -> str:
    if found := _data_url.match(url):
        return found[1]
    return _by_suffix.get(url.partition("?")[0].rpartition(".")[2].lower(), otherwise)
