"""Rows that Hermes would have written, of what other agents said: content, calls, thinking, times.

Text is written as a database can hold it and an import takes it: no lone surrogates, and nothing that looks like the mark of a
content that is no string.
"""

import re
from collections.abc import Sequence
from typing import Any

from adapters import clock
from adapters.carried import arguments_text, call_name, clean, is_image, sounding, stand_in
from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.hermes.records import ROW_COLUMNS, SENTINEL
from adapters.hermes.times import micros_of, seconds
from adapters.leaves import Fate, Path
from adapters.pairing import PairedCall
from eventstore.wire.codec import Number

SURROGATE = Fate("degraded", "half a surrogate pair, which the database cannot hold; U+FFFD stands for it")
MARK = Fate("degraded", "begins as a content does that is no text; U+FFFD stands for the NUL")
NO_PART = Fate("dropped", "no part for it here; a note stands in its place")
NO_IMAGE = Fate("dropped", "an assistant's row holds no image; a note stands in its place")
NAME = Fate("degraded", "models refuse such a tool name; other characters stand for those that they do not take")

_controls = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffc\ufff9-\ufffb]")
_exact = re.compile(r"[^.]+(\.\d{1,6})?(Z|z|[+-]00:00)")
TITLE_CHARS_MAX = 100
sound = sounding(SURROGATE)


def content_of(content: Any, notes: Notes, *, with_images: bool = True) -> str | list[Json]:
    """Return a content: a string where it is one text, else parts; "" for none."""
    if isinstance(content, str):
        return _unmarked(sound(content, ("content",), notes), ("content",), notes)
    parts = [_part(part, index, notes, with_images) for index, part in enumerate(content or ())]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return _unmarked(str(parts[0]["text"]), ("content", 0, "text"), notes)
    return parts or ""


def joined(contents: Sequence[str | list[Json]]) -> str | list[Json]:
    """The contents of one reply as one: texts, a blank line between them, or parts where any is."""
    given = [content for content in contents if content]
    if all(isinstance(content, str) for content in given):
        return "\n\n".join(str(content) for content in given)
    return [part for content in given for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)]


def call_of(call: PairedCall, path: Path, notes: Notes) -> Json:
    """Return a call; its arguments are the string that they were."""
    name = call_name(call, path, notes, NAME)
    arguments = arguments_text(call, path, notes, sound)
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def title_of(text: str) -> str:
    """A title as Hermes takes it: one line, no controls, at most 100 characters; it may be empty."""
    line = " ".join(_controls.sub("", clean(text, "")).split())
    return line[:TITLE_CHARS_MAX].rstrip()


class Clock(clock.Clock[Number]):
    """Gives each row its time; it counts in microseconds."""

    coarse = Fate("degraded", "kept to the microsecond, in UTC")
    no_time = clock.untimed("row")

    def spelled(self, moment: int) -> Number:
        return seconds(moment)

    def moment(self, said: object) -> int | None:
        return micros_of(said)

    def is_exact(self, said: str) -> bool:
        return _exact.fullmatch(said) is not None


def new_row(role: str, content: Any, time: Number, **more: Any) -> Json:
    """A live row with every column; its number and session are given later."""
    row: Json = dict.fromkeys(ROW_COLUMNS)
    row |= {"role": role, "content": content, "timestamp": time, "observed": Number("0")}
    return row | {"active": Number("1"), "compacted": Number("0")} | more


def _unmarked(text: str, path: Path, notes: Notes) -> str:
    if not text.startswith(SENTINEL):
        return text
    notes[path] = MARK
    return "\ufffd" + text[1:]


def _part(part: Json, index: int, notes: Notes, with_images: bool) -> Json:
    path: Path = ("content", index)
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": sound(text, (*path, "text"), notes)}
        case {"type": "image_url", "image_url": {"url": str(url), **more}} if is_image(url):
            if with_images:
                detail = more.get("detail")
                kept = {"detail": detail} if detail in ("auto", "low", "high") else {}
                if "detail" in more and not kept:
                    notes[*path, "image_url", "detail"] = Fate("dropped", "no detail that is known")
                return {"type": "image_url", "image_url": {"url": url, **kept}}
            notes[path] = NO_IMAGE
            return {"type": "text", "text": stand_in(part)}
    notes[path] = NO_PART
    return {"type": "text", "text": stand_in(part)}
