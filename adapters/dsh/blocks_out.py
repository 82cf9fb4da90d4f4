"""What others said, as blocks of a log: texts, thoughts, calls; every leaf that is said less well is noted with the reason.

Text is written as a model's server takes it: no half of a surrogate pair, and no text of blanks alone.
"""

from typing import Any

from adapters import clock
from adapters.carried import arguments_text, call_name, sounding, stand_in
from adapters.conversion import Json
from adapters.dsh.fields_out import BLANK, USAGE
from adapters.dsh.records import SAFE_INTEGER_MAX
from adapters.fates_out import Notes
from adapters.leaves import Fate, Path
from adapters.pairing import PairedCall
from adapters.values import int_of, object_of
from eventstore.wire.codec import Number

SURROGATE = Fate("degraded", "half a surrogate pair, which no model's server takes; U+FFFD stands for it")
NO_PART = Fate("dropped", "no block for it here; a note stands in its place")
NO_IMAGE = Fate("dropped", "images stand in the agent's own store, beside the log; a note stands in its place")
NAME = Fate("degraded", "models refuse such a tool name; other characters stand for those that they do not take")
NO_MODEL = Fate("dropped", "no name, or not that of the last message of the reply")
NO_COUNT = Fate("dropped", "no count of tokens")
HALF_USAGE = Fate("dropped", "the tokens in and out are told together, or not at all")

sound = sounding(SURROGATE)


def is_reply_block(block: Any) -> bool:
    """Is it a block that a reply of the agent's own may hold?"""
    match block:
        case {"type": "text" | "reasoning", "text": str()} | {"type": "tool-call"}:
            return True
    return False


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def content_of(content: Any, notes: Notes) -> list[Json]:
    """Return a content's blocks, none for blanks."""
    if isinstance(content, str):
        return _texts(content, ("content",), notes)
    blocks: list[Json] = []
    for index, part in enumerate(content or ()):
        blocks += _part(part, ("content", index), notes)
    return blocks


def call_of(call: PairedCall, path: Path, notes: Notes) -> Json:
    """Return a call; its arguments are the string that they were."""
    name = call_name(call, path, notes, NAME)
    arguments = arguments_text(call, path, notes, sound)
    return {"type": "tool-call", "id": call.id, "name": name, "arguments": arguments}


def usage_of(metadata: Json, notes: Notes) -> Json:
    """Return the tokens of a reply, {} where they cannot be told."""
    told = object_of(metadata, "usage")
    counts: Json = {}
    for name, value in told.items():
        place: Path = ("metadata", "usage", name)
        number = int_of(value)
        if name in USAGE and number is not None and 0 <= number <= SAFE_INTEGER_MAX:
            counts[USAGE[name]] = Number(str(number))
        elif name in USAGE:
            notes[place] = NO_COUNT
    if not {"inputTokens", "outputTokens"} <= counts.keys():
        notes |= {("metadata", "usage", name): HALF_USAGE for name in told if name in USAGE and USAGE[name] in counts}
        return {}
    return counts


class Clock(clock.Clock[int]):
    """Gives each event its time."""

    no_time = clock.untimed("event")

    def spelled(self, moment: int) -> int:
        return moment


def _part(part: Json, path: Path, notes: Notes) -> list[Json]:
    match part:
        case {"type": "text", "text": str(text)}:
            return _texts(text, (*path, "text"), notes)
    notes[path] = NO_IMAGE if part.get("type") == "image_url" else NO_PART
    return [text_block(stand_in(part))]


def _texts(text: str, path: Path, notes: Notes) -> list[Json]:
    if text.strip():
        return [text_block(sound(text, path, notes))]
    if text:
        notes[path] = BLANK
    return []
