"""What another agent said, as records can carry it: sound texts, names and arguments of calls, and a note for what has no part.

Text is carried as UTF-8 can: U+FFFD stands for half a surrogate pair. `sounding` makes the function that does so and notes it in
the agent's own words. A part that an API refuses would end the session, so a note stands in its place.
"""

import re
from collections.abc import Callable
from typing import Any

from adapters import pairing
from adapters.conversion import Json
from adapters.fates_out import Notes
from adapters.leaves import Fate, Path
from adapters.pairing import PairedCall
from eventstore.errors import InvalidJson
from eventstore.wire import codec

Sound = Callable[[str, Path, Notes], str]

TOOL_NAME_CHARS_MAX = 64
RAW_ARGUMENTS = "raw_arguments"

RENAMED = Fate("degraded", pairing.RENAMED)
NOT_OBJECT = Fate("degraded", f"the arguments are no JSON object; they stand as text in `{RAW_ARGUMENTS}`")
NO_ARGUMENTS = Fate("degraded", "no arguments; written as an object with nothing in it")
ELSEWHERE = Fate("degraded", "an image elsewhere is named by its address only")

_surrogate = re.compile("[\ud800-\udfff]")
_image = re.compile(r"data:image/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}", re.ASCII)
_call_id = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_not_in_a_name = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_addresses = ("https://", "http://")
_kinds = {"image_url": "an image", "file": "a file", "input_audio": "audio"}


def sounding(loss: Fate) -> Sound:
    """Return the function that returns a text as UTF-8 can carry it, and notes the loss where there is one."""

    def sound(text: str, path: Path, notes: Notes) -> str:
        if is_sound(text):
            return text
        notes[path] = loss
        return clean(text)

    return sound


def is_sound(text: str) -> bool:
    return not _surrogate.search(text)


def clean(text: str, instead: str = "\ufffd") -> str:
    """Return a text that no report is about as UTF-8 can carry it."""
    return _surrogate.sub(instead, text)


def is_call_id(name: str) -> bool:
    """Is it an id of a call as most servers of models take it?"""
    return _call_id.fullmatch(name) is not None


def tool_name(name: str) -> str:
    """Return a tool's name as most servers of models take it."""
    return _not_in_a_name.sub("_", name)[:TOOL_NAME_CHARS_MAX] or "unknown"


def call_name(call: PairedCall, path: Path, notes: Notes, loss: Fate, name_of: Callable[[str], str] = tool_name) -> str:
    """Return the name of a call's tool; where it is another one, `loss` is noted, and so is another id of the call."""
    told = call.call["function"]["name"]
    name = name_of(told)
    if name != told:
        notes[*path, "function", "name"] = loss
    if call.is_renamed:
        notes[*path, "id"] = RENAMED
    return name


def arguments_text(call: PairedCall, path: Path, notes: Notes, sound: Sound) -> str:
    """Return the arguments of a call: the string that they were."""
    return sound(call.call["function"]["arguments"], (*path, "function", "arguments"), notes)


def arguments_object(call: PairedCall, path: Path, notes: Notes, sound: Sound) -> Json:
    """Return the arguments of a call as an object; where they are none, it holds their text."""
    arguments, place = call.call["function"]["arguments"], (*path, "function", "arguments")
    try:
        value = codec.parse(arguments)
    except InvalidJson:
        value = None
    if isinstance(value, dict) and not _has_odd_key(value):
        return {key: _sound(inner, place, notes, sound) for key, inner in value.items()}
    if not arguments.strip():
        notes[place] = NO_ARGUMENTS
        return {}
    text = sound(arguments, place, notes)
    notes[place] = NOT_OBJECT
    return {RAW_ARGUMENTS: text}


def placed_parts(content: Any) -> list[tuple[Path, Any]]:
    """Return the parts of a content, each with its place; a string is one text."""
    if isinstance(content, str):
        return [(("content",), {"type": "text", "text": content})]
    return [(("content", index), part) for index, part in enumerate(content)] if isinstance(content, list) else []


def is_image(url: str) -> bool:
    """Is it an image that its own data or an address stands for?"""
    return _image.fullmatch(url) is not None if url.startswith("data:") else url.startswith(_addresses) and is_sound(url)


def image_by_address(url: str, path: Path, notes: Notes, sound: Sound) -> str:
    """Return the text that names an image elsewhere, "" where the URL is no address."""
    if not url.startswith(_addresses):
        return ""
    notes[path] = ELSEWHERE
    return f"[image: {sound(url, path, notes)}]"


def stand_in(part: Json) -> str:
    """Return the note that stands in the place of a part."""
    return f"[{_kinds.get(str(part.get('type')), 'content')} that could not be carried over]"


def _has_odd_key(value: Any) -> bool:
    """Is there a key that UTF-8 cannot carry? Two of them might become one."""
    if isinstance(value, dict):
        return any(not is_sound(key) or _has_odd_key(inner) for key, inner in value.items())
    return isinstance(value, list) and any(map(_has_odd_key, value))


def _sound(value: Any, path: Path, notes: Notes, sound: Sound) -> Any:
    if isinstance(value, str):
        return sound(value, path, notes)
    if isinstance(value, list):
        return [_sound(item, path, notes, sound) for item in value]
    if isinstance(value, dict):
        return {key: _sound(inner, path, notes, sound) for key, inner in value.items()}
    return value
