"""Records that the agent would have written, of what other agents said: content, calls and their results, counts.

On resume the agent passes over what a user said that begins as a command does: it is not written so. Line separators of Unicode are
escaped, since some readers of lines end one there. A name beside a file's data ends every later request: it has no place.
"""

import re
from collections.abc import Sequence
from typing import Any

from adapters.carried import arguments_object, call_name, image_by_address, placed_parts, sounding, stand_in
from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.gemini.names import tool_name
from adapters.gemini.records import BLANKS, CONTEXT
from adapters.leaves import Fate, Path
from adapters.pairing import PairedCall
from adapters.session import metadata_of
from eventstore.wire import codec
from eventstore.wire.codec import Number

SAFE_INTEGER = 2**53 - 1
MEDIA = "[media]"  # as the agent reads a part without a text
UNSEEN = "\u200b"

SURROGATE = Fate("degraded", "half a surrogate pair, which the API refuses; U+FFFD stands for it")
BLANK = Fate("dropped", "the agent passes over an empty text")
NO_PART = Fate("dropped", "no part for it here; a note stands in its place")
NAME = Fate("degraded", "the API refuses such a tool name; other characters stand for those that it does not take")
COMMAND = Fate("degraded", "it begins as a command does, which is passed over on resume; a blank of no width stands before it")
JOINED = Fate("degraded", "the texts of a result are one here")
ROUNDED = Fate("degraded", "holds a number that JavaScript rounds")
DETAIL = Fate("dropped", "no place for this field")

_media = re.compile(r"data:([a-z0-9.+/-]+);base64,([A-Za-z0-9+/]+={0,2})", re.ASCII)
_audio = {"wav": "audio/wav", "mp3": "audio/mp3"}
_base64 = re.compile(r"[A-Za-z0-9+/]+={0,2}", re.ASCII)
sound = sounding(SURROGATE)
_line_ends = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029"})


def line_of(record: Any) -> bytes:
    """A record as a line, without its end."""
    return codec.dump(record).translate(_line_ends).encode()


def parts_out(content: Any, notes: Notes, *, with_media: bool = True) -> list[Json]:
    """Return the parts that a content makes; an empty text makes none."""
    parts = (_part(part, path, notes, with_media) for path, part in placed_parts(content))
    return [part for part in parts if part is not None]


def spoken(parts: list[Json], path: Path, notes: Notes) -> list[Json]:
    """What a user said, so that it is not passed over on resume; nothing where nothing was said."""
    bare = "".join(part.get("text", MEDIA) for part in parts).strip(BLANKS)
    if not bare:
        return []
    if bare.startswith(("/", "?", *CONTEXT)):
        notes[path] = COMMAND
        at = next(at for at, part in enumerate(parts) if "text" in part)
        return [*parts[:at], {"text": UNSEEN + parts[at]["text"]}, *parts[at + 1 :]]
    return parts


def call_out(call: PairedCall, path: Path, notes: Notes) -> Json:
    """Return a call without its result."""
    name = call_name(call, path, notes, NAME, tool_name)
    args = arguments_object(call, path, notes, sound)
    if _is_rounded(args):
        notes.setdefault((*path, "function", "arguments"), ROUNDED)
    return {"id": call.id, "name": name, "args": args}


def answer_out(call_id: str, name: str, message: Json, notes: Notes) -> list[Json]:
    """Return the parts of a result: the tool's response, then the media it has."""
    parts = parts_out(message.get("content"), notes)
    texts = [part["text"] for part in parts if "text" in part]
    if len(texts) > 1:
        notes.setdefault(("content",), JOINED)
    failed = is_failed(message)
    return [response_part(call_id, name, "\n".join(texts), failed), *(part for part in parts if "text" not in part)]


def response_part(call_id: str, name: str, text: str, failed: bool) -> Json:
    return {"functionResponse": {"id": call_id, "name": name, "response": {"error" if failed else "output": text}}}


def is_failed(message: Json) -> bool:
    metadata = metadata_of(message)
    is_error = metadata.get("is_error")
    return is_error if isinstance(is_error, bool) else metadata.get("status") in ("error", "interrupted")


def tokens_out(usage: Any) -> Json | None:
    """What a reply cost, as the agent counts it: what was read from a cache is part of the input."""
    if not isinstance(usage, dict):
        return None
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens", "reasoning_tokens")
    counts = {name: count for name in names if (count := whole(usage.get(name))) is not None}
    if not counts:
        return None
    cached = counts.get("cache_read_input_tokens", 0)
    told = counts.get("input_tokens", 0) + cached + counts.get("cache_creation_input_tokens", 0)
    output, thoughts = counts.get("output_tokens", 0), counts.get("reasoning_tokens", 0)
    tokens = {"input": told, "output": output, "cached": cached, "thoughts": thoughts, "tool": 0}
    return {name: Number(str(count)) for name, count in (tokens | {"total": told + output + thoughts}).items()}


def whole(value: Any) -> int | None:
    """A count; None for what is none."""
    count = value.as_int() if isinstance(value, Number) else value
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def _is_rounded(value: Any) -> bool:
    if isinstance(value, Number):
        return value.text.lstrip("-").isdigit() and abs(int(value.text[:400])) > SAFE_INTEGER
    inner: Sequence[Any] = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return any(map(_is_rounded, inner))


def _part(part: Any, path: Path, notes: Notes, with_media: bool) -> Json | None:
    match part:
        case {"type": "text", "text": str(text)}:
            here = path if path == ("content",) else (*path, "text")
            if not text:
                if path != ("content",):
                    notes[path] = BLANK
                return None
            return {"text": sound(text, here, notes)}
        case {"type": "image_url", "image_url": {"url": str(url)}} if with_media:
            if (media := _inline(url)) and media["mimeType"].startswith("image/"):
                return {"inlineData": media}
            if text := image_by_address(url, path, notes, sound):
                return {"text": text}
        case {"type": "file", "file": {"file_data": str(url)}} if with_media and (media := _inline(url)):
            return {"inlineData": media}
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": "wav" | "mp3" as form}} if with_media:
            if _is_base64(data):
                return {"inlineData": {"mimeType": _audio[form], "data": data}}
    notes[path] = NO_PART
    return {"text": stand_in(part)}


def _inline(url: str) -> Json | None:
    found = _media.fullmatch(url)
    return {"mimeType": found[1], "data": found[2]} if found and _is_base64(found[2]) else None


def _is_base64(data: str) -> bool:
    return len(data) % 4 == 0 and _base64.fullmatch(data) is not None
