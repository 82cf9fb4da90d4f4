"""Items and events that Codex would have written, of what other agents said.

Text is written as UTF-8 can carry it: Codex cannot read a line with half a surrogate pair.
"""

from typing import Any

from adapters.carried import arguments_text, call_name, is_image, sounding, stand_in
from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import Fate, Path
from adapters.pairing import PairedCall

SURROGATE = Fate("degraded", "half a surrogate pair, which the agent cannot read; U+FFFD stands for it")
NO_PART = Fate("dropped", "no part for it here; a note stands in its place")
NO_IMAGE = Fate("dropped", "an assistant's item holds no image; a note stands in its place")
NO_DETAIL = Fate("dropped", "a detail with which the agent leaves the image out")
NAME = Fate("degraded", "the API refuses such a tool name; other characters stand for those that it does not take")

DETAILS = frozenset({"auto", "high", "original"})
sound = sounding(SURROGATE)


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
    name = call_name(call, path, notes, NAME)
    arguments = arguments_text(call, path, notes, sound)
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
        case {"type": "image_url", "image_url": {"url": str(url), **more}} if is_image(url):
            if kind == "output_text":
                notes[path] = NO_IMAGE
                return {"type": kind, "text": stand_in(part)}
            detail = more.get("detail")
            kept = {"detail": detail} if detail in DETAILS else {}
            if "detail" in more and not kept:
                notes[*path, "image_url", "detail"] = NO_DETAIL
            return {"type": "input_image", "image_url": url, **kept}
    notes[path] = NO_PART
    return {"type": kind, "text": stand_in(part)}
