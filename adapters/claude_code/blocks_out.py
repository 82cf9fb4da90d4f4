"""The content of a standard message as blocks of the API: text, images, documents, calls; and what has no place, named.

The API refuses a session for one block it does not like, and with it every later turn. So nothing is written that it is
known to refuse: blank texts, lone surrogates, media that is no base64, input that is no object, thinking of others.
"""

import re
from typing import Any

from adapters.carried import arguments_object, call_name, image_by_address, placed_parts, sounding, stand_in
from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import Fate, Path
from adapters.pairing import PairedCall

IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
DOCUMENT_TYPES = frozenset({"application/pdf"})

SURROGATE = Fate("degraded", "half a surrogate pair, which the API refuses; U+FFFD stands for it")
BLANK = Fate("dropped", "the API refuses a blank text")
NO_PART = Fate("dropped", "no block for this part; a note stands in its place")
NAME = Fate("degraded", "the API refuses such a tool name; other characters stand for those that it does not take")

_data_url = re.compile(r"data:([^;,]+);base64,([A-Za-z0-9+/]+={0,2})", re.ASCII)
sound = sounding(SURROGATE)


def content_blocks(content: Any, notes: Notes, *, with_media: bool = True) -> list[Json]:
    """Return the blocks that a content makes; a string is one text, a blank text none."""
    blocks = (_block(part, path, notes, with_media) for path, part in placed_parts(content))
    return [block for block in blocks if block is not None]


def result_content(content: Any, notes: Notes) -> str | list[Json]:
    """Return the content of a tool result, which may be empty."""
    if isinstance(content, str):
        return sound(content, ("content",), notes)
    return content_blocks(content, notes) or ""


def call_block(call: PairedCall, path: Path, notes: Notes) -> Json:
    """Return the tool_use block of a call."""
    name = call_name(call, path, notes, NAME)
    return {"type": "tool_use", "id": call.id, "name": name, "input": arguments_object(call, path, notes, sound)}


def _block(part: Any, path: Path, notes: Notes, with_media: bool) -> Json | None:
    match part:
        case {"type": "text", "text": str(text)}:
            return _text(text, path if path == ("content",) else (*path, "text"), path, notes)
        case {"type": "image_url", "image_url": {"url": str(url)}} if with_media:
            if media := _media(url, IMAGE_TYPES):
                return {"type": "image", "source": media}
            if text := image_by_address(url, path, notes, sound):
                return {"type": "text", "text": text}
        case {"type": "file", "file": {"file_data": str(url), **more}} if with_media and (media := _media(url, DOCUMENT_TYPES)):
            title = more.get("filename")
            named = {"title": sound(title, (*path, "file", "filename"), notes)} if isinstance(title, str) and title else {}
            return {"type": "document", "source": media, **named}
    notes[path] = NO_PART
    return {"type": "text", "text": stand_in(part)}


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
