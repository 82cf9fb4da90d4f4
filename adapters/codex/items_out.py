"""Items and events that Codex would have written, of what other agents said.

Text is written as UTF-8 can carry it: Codex cannot read a line with half a surrogate pair. A part that the API has no place for
becomes a note in its place, since one that it refuses would end the session.
"""

import re
from typing import Any

from adapters.codex.names import tool_name
from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import Fate, Path
from adapters.pairing import PairedCall

SURROGATE = Fate("degraded", "half a surrogate pair, which the agent cannot read; U+FFFD stands for it")
NO_PART = Fate("dropped", "no part for it here; a note stands in its place")
NO_IMAGE = Fate("dropped", "an assistant's item holds no image; a note stands in its place")
NO_DETAIL = Fate("dropped", "a detail with which the agent leaves the image out")
NAME = Fate("degraded", "the API refuses such a tool name; other characters stand for those that it does not take")
RENAMED = Fate("degraded", "not valid here, or used twice; another one is written")

_surrogate = re.compile("[\ud800-\udfff]")
_image = re.compile(r"data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}", re.ASCII)
DETAILS = frozenset({"auto", "high", "original"})
_KINDS = {"image_url": "an image", "file": "a file", "input_audio": "audio"}


def sound(text: str, path: Path, notes: Notes) -> str:
    """Return the text as UTF-8 can carry it."""
    if not _surrogate.search(text):
        return text
    notes[path] = SURROGATE
    return _surrogate.sub("\ufffd", text)


def clean(text: str) -> str:
    """The same for a text that no report is about."""
    return _surrogate.sub("\ufffd", text)


def parts_of(content: Any, notes: Notes, *, is_assistant: bool = False) -> list[Json]:
    """Return a content as parts of an item; none for an empty one."""
    kind = "output_text" if is_assistant else "input_text"
    if isinstance(content, str):
        return [{"type": kind, "text": sound(content, ("content",), notes)}] if content else []
    return [_part(part, ("content", index), kind, notes) for index, part in enumerate(content or ())]


def output_of(content: Any, notes: Notes) -> str | list[Json]:
    """Return a content as a result's output: a string where it is text alone and one, else parts."""
    if isinstance(content, str):
        return sound(content, ("content",), notes)
    parts = parts_of(content, notes)
    if len(parts) == 1 and parts[0]["type"] == "input_text":
        return str(parts[0]["text"])
    return parts or ""


def is_said(parts: list[Json]) -> bool:
    """Is there anything but blanks in it?"""
    return any(part["type"] == "input_image" or part["text"].strip() for part in parts)


def text_in(parts: list[Json]) -> str:
    return "\n\n".join(part["text"] for part in parts if part["type"] != "input_image")


def message_item(role: str, parts: list[Json]) -> Json:
    return {"type": "message", "role": role, "content": parts}


def call_item(call: PairedCall, path: Path, notes: Notes) -> Json:
    """Return a call; its arguments are the string that they were."""
    function = call.call["function"]
    name = tool_name(function["name"])
    if name != function["name"]:
        notes[*path, "function", "name"] = NAME
    if call.is_renamed:
        notes[*path, "id"] = RENAMED
    arguments = sound(function["arguments"], (*path, "function", "arguments"), notes)
    return {"type": "function_call", "name": name, "arguments": arguments, "call_id": call.id}


def result_item(call_id: str, output: str | list[Json]) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def size_of(output: str | list[Json]) -> int:
    """How many bytes of text an output has."""
    text = output if isinstance(output, str) else text_in(output)
    return len(text.encode())


def user_event(parts: list[Json]) -> Json:
    """What the agent shows of a user's message, and lists the session by."""
    return {"type": "user_message", "message": text_in(parts), "images": [], "local_images": [], "text_elements": []}


def _part(part: Json, path: Path, kind: str, notes: Notes) -> Json:
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": kind, "text": sound(text, (*path, "text"), notes)}
        case {"type": "image_url", "image_url": {"url": str(url), **more}} if _is_image(url):
            if kind == "output_text":
                notes[path] = NO_IMAGE
                return {"type": kind, "text": "[an image that could not be carried over]"}
            detail = more.get("detail")
            kept = {"detail": detail} if detail in DETAILS else {}
            if "detail" in more and not kept:
                notes[*path, "image_url", "detail"] = NO_DETAIL
            return {"type": "input_image", "image_url": url, **kept}
    notes[path] = NO_PART
    return {"type": kind, "text": f"[{_KINDS.get(str(part.get('type')), 'content')} that could not be carried over]"}


def _is_image(url: str) -> bool:
    if url.startswith("data:"):
        return _image.fullmatch(url) is not None
    return url.startswith(("https://", "http://")) and not _surrogate.search(url)
