"""The content of a standard message as blocks of the API: text, images, documents, calls; and what has no place, named.

The API refuses a session for one block it does not like, and with it every later turn. So nothing is written that it is
known to refuse: blank texts, lone surrogates, media that is no base64, input that is no object, thinking of others.
"""

import re
from typing import Any

from adapters.claude_code.names import tool_name
from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import Fate, Path
from adapters.pairing import PairedCall
from eventstore.errors import InvalidJson
from eventstore.wire import codec

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
DOCUMENT_TYPES = frozenset({"application/pdf"})
RAW_ARGUMENTS = "raw_arguments"

SURROGATE = Fate("degraded", "half a surrogate pair, which the API refuses; U+FFFD stands for it")
BLANK = Fate("dropped", "the API refuses a blank text")
NO_PART = Fate("dropped", "no block for this part; a note stands in its place")
NOT_OBJECT = Fate("degraded", f"the arguments are no JSON object; they stand as text in `{RAW_ARGUMENTS}`")
NO_ARGUMENTS = Fate("degraded", "no arguments; written as an object with nothing in it")
NAME = Fate("degraded", "the API refuses such a tool name; other characters stand for those that it does not take")

_surrogate = re.compile("[\ud800-\udfff]")
_data_url = re.compile(r"data:([^;,]+);base64,([A-Za-z0-9+/]+={0,2})", re.ASCII)


def sound(text: str, path: Path, notes: Notes) -> str:
    """Return the text as UTF-8 can carry it."""
    if not _surrogate.search(text):
        return text
    notes[path] = SURROGATE
    return _surrogate.sub("\ufffd", text)


def content_blocks(content: Any, notes: Notes, *, with_media: bool = True) -> list[Json]:
    """Return the blocks that a content makes; a string is one text, a blank text none."""
    placed: list[tuple[Path, Any]] = []
    if isinstance(content, str):
        placed = [(("content",), {"type": "text", "text": content})]
    elif isinstance(content, list):
        placed = [(("content", index), part) for index, part in enumerate(content)]
    blocks = (_block(part, path, notes, with_media) for path, part in placed)
    return [block for block in blocks if block is not None]


def result_content(content: Any, notes: Notes) -> str | list[Json]:
    """Return the content of a tool result, which may be empty."""
    if isinstance(content, str):
        return sound(content, ("content",), notes)
    return content_blocks(content, notes) or ""


def call_block(call: PairedCall, path: Path, notes: Notes) -> Json:
    """Return the tool_use block of a call."""
    function = call.call["function"]
    name = tool_name(function["name"])
    if name != function["name"]:
        notes[*path, "function", "name"] = NAME
    arguments = _input(function["arguments"], (*path, "function", "arguments"), notes)
    return {"type": "tool_use", "id": call.id, "name": name, "input": arguments}


def _input(arguments: str, path: Path, notes: Notes) -> Json:
    try:
        value = codec.parse(arguments)
    except InvalidJson:
        value = None
    if isinstance(value, dict) and not _has_odd_key(value):
        return {key: _sound(inner, path, notes) for key, inner in value.items()}
    if not arguments.strip():
        notes[path] = NO_ARGUMENTS
        return {}
    text = sound(arguments, path, notes)
    notes[path] = NOT_OBJECT
    return {RAW_ARGUMENTS: text}


def _has_odd_key(value: Any) -> bool:
    """Is there a key that UTF-8 cannot carry? Two of them might become one."""
    if isinstance(value, dict):
        return any(_surrogate.search(key) or _has_odd_key(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_has_odd_key, value))


def _sound(value: Any, path: Path, notes: Notes) -> Any:
    if isinstance(value, str):
        return sound(value, path, notes)
    if isinstance(value, list):
        return [_sound(item, path, notes) for item in value]
    if isinstance(value, dict):
        return {key: _sound(inner, path, notes) for key, inner in value.items()}
    return value


def _block(part: Any, path: Path, notes: Notes, with_media: bool) -> Json | None:
    match part:
        case {"type": "text", "text": str(text)}:
            return _text(text, path if path == ("content",) else (*path, "text"), path, notes)
        case {"type": "image_url", "image_url": {"url": str(url)}} if with_media:
            if media := _media(url, IMAGE_TYPES):
                return {"type": "image", "source": media}
            if url.startswith(("https://", "http://")):
                notes[path] = Fate("degraded", "an image elsewhere is named by its address only")
                return {"type": "text", "text": f"[image: {sound(url, path, notes)}]"}
        case {"type": "file", "file": {"file_data": str(url), **more}} if with_media and (media := _media(url, DOCUMENT_TYPES)):
            title = more.get("filename")
            named = {"title": sound(title, (*path, "file", "filename"), notes)} if isinstance(title, str) and title else {}
            return {"type": "document", "source": media, **named}
    notes[path] = NO_PART
    return {"type": "text", "text": f"[{_kind(part)} that could not be carried over]"}


def _text(text: str, path: Path, part: Path, notes: Notes) -> Json | None:
    if not text.strip():
        if text or part != ("content",):
            notes[part] = BLANK
        return None
    return {"type": "text", "text": sound(text, path, notes)}


def _media(url: str, allowed: frozenset[str]) -> Json | None:
    """The source of a block, when the URL holds base64 of a type that the API takes."""
    found = _data_url.fullmatch(url)
    if not found or found[1] not in allowed or len(found[2]) % 4:
        return None
    return {"type": "base64", "media_type": found[1], "data": found[2]}


def _kind(part: Any) -> str:
    kinds = {"image_url": "an image", "file": "a file", "input_audio": "audio"}
    return kinds.get(part.get("type", ""), "content") if isinstance(part, dict) else "content"
