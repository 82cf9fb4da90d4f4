"""The parts of a content, as the agent keeps them, to those of a standard message: text, media, thinking, calls, answers."""

from dataclasses import dataclass, field
from typing import Any

from adapters.conversion import Json
from adapters.gemini.records import is_thought, member
from adapters.leaves import Path
from adapters.said import Copy, Unsaid
from adapters.values import text_of
from eventstore.wire import codec

NO_PLACE = "a standard message has no place for this"
SIGNED = "signed: it opens only where it came from"
NOT_TEXT = "not a text"
MODEL_ONLY = "nothing that a record of this kind says"

_audio = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}


@dataclass(slots=True)
class Shown:
    """What is shown of a content: its parts, and where each of their texts stands in the record."""

    parts: list[Json] = field(default_factory=list)
    places: list[tuple[Path, Path, str]] = field(default_factory=list)  # in the record, in the part, how it is spelled

    def content(self) -> tuple[str | list[Json] | None, list[Copy]]:
        """The content of a message, one text as a string; and what it says verbatim."""
        if len(self.parts) == 1 and self.parts[0]["type"] == "text":
            return self.parts[0]["text"], [Copy(record, ("content",)) for record, _, _ in self.places]
        copies = [Copy(record, ("content", *there), "data" if how else "") for record, there, how in self.places]
        return self.parts or None, copies

    def add(self, part: Any, place: Path, unsaid: Unsaid) -> None:
        """Add a part that stands at this place; what has no place of its own is named."""
        at = len(self.parts)
        if isinstance(part, str):
            self.parts.append({"type": "text", "text": part})
            self.places.append((place, (at, "text"), ""))
            return
        if not isinstance(part, dict):
            unsaid[place] = NO_PLACE
            return
        known = set()
        if isinstance(part.get("text"), str) and not is_thought(part):
            known.add("text")
            self.parts.append({"type": "text", "text": part["text"]})
            self.places.append(((*place, "text"), (at, "text"), ""))
        elif (blob := member(part, "inlineData")) and (told := _media(blob)):
            known.add("inlineData")
            self.parts.append(told[0])
            self.places.append(((*place, "inlineData", "data"), (at, *told[1]), told[2]))
            note_rest(blob, {"mimeType", "data", *told[3]}, (*place, "inlineData"), unsaid)
        elif (link := member(part, "fileData")) and _is_image(link):
            known.add("fileData")
            self.parts.append({"type": "image_url", "image_url": {"url": link["fileUri"]}})
            note_rest(link, {"fileUri"}, (*place, "fileData"), unsaid)
        note_rest(part, known, place, unsaid)


def note_rest(value: Json, known: set[str], place: Path, unsaid: Unsaid, reason: str = NO_PLACE) -> None:
    """Name what else stands in an object."""
    for name in value.keys() - known:
        unsaid.setdefault((*place, name), SIGNED if name == "thoughtSignature" else reason)


def thinking_item(text: str, model: str) -> Json:
    return {"text": text, "provider": "google"} | ({"model": model} if model else {})


def thinking_of(items: list[Json]) -> Json:
    return {"content": "\n\n".join(item["text"] for item in items), "encrypted": False, "items": items}


def thought_text(thought: Json) -> str:
    """A thought as the agent sends it again."""
    subject, description = text_of(thought, "subject"), text_of(thought, "description")
    return f"**{subject}** {description}" if subject else description


def answer_text(response: Any) -> tuple[str, tuple[str, ...], bool]:
    """The text of a tool's response; where in it the text stands, `()` where all of it is told as JSON; is it an error?"""
    if isinstance(response, dict) and len(response) == 1:
        for name in ("output", "error"):
            if isinstance(response.get(name), str):
                return response[name], (name,), name == "error"
    is_error = isinstance(response, dict) and bool(response.get("error"))
    return ("" if response is None else response if isinstance(response, str) else codec.dump(response)), (), is_error


def _media(blob: Json) -> tuple[Json, Path, str, set[str]] | None:
    """The part of inline data; where in it the data stands, and how; which other names are said."""
    mime, data, name = text_of(blob, "mimeType"), blob.get("data"), text_of(blob, "displayName")
    if not mime or not isinstance(data, str) or any(char in mime for char in ",;"):
        return None
    url = f"data:{mime};base64,{data}"
    if mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}, ("image_url", "url"), "data", set()
    if mime in _audio:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _audio[mime]}}, ("input_audio", "data"), "", set()
    file: Json = {"file_data": url} | ({"filename": name} if name else {})
    return {"type": "file", "file": file}, ("file", "file_data"), "data", {"displayName"} if name else set()


def _is_image(link: Json) -> bool:
    return text_of(link, "mimeType").startswith("image/") and bool(text_of(link, "fileUri"))
