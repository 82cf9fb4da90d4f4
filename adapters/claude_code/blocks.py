"""Content blocks of one line: text, images, documents, thinking, calls and results, to the parts of a standard message.

A block that has no place there is named in `unsaid` with the reason; it stays in the native record and in the report.
Every value that goes over verbatim is named in `copies`, so that `said` can keep it once.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from adapters.conversion import Json
from adapters.leaves import Path
from adapters.said import Copy, Said, Unsaid
from eventstore.wire import codec

CONTENT: Path = ("message", "content")
NOT_TEXT = "not a text"
NO_PLACE = "a standard message has no place for this block"


def read_content(blocks: Iterable[tuple[Path, Any]], unsaid: Unsaid) -> tuple[str | list[Json] | None, list[Copy]]:
    """Return the content that blocks make: a string when they are one text, else parts in order, None for none."""
    parts: list[tuple[Path, Json]] = []
    for place, block in blocks:
        part = _part(block)
        if part is None:
            unsaid[place] = NO_PLACE
        else:
            parts.append((place, part))
            unsaid.update(_unsaid_of_media(block, place))
    if len(parts) == 1 and parts[0][1]["type"] == "text":
        place, part = parts[0]
        return part["text"], [Copy((*place, "text"), ("content",))]
    copies = [_copy(place, part, ("content", index)) for index, (place, part) in enumerate(parts)]
    return [part for _, part in parts] or None, copies


def read_assistant(blocks: Sequence[Any], model: str, provider: str, digest: str, unsaid: Unsaid) -> Said:
    """Return what an assistant's blocks say. Each kind keeps its order; how kinds mixed is in the native record."""
    said = Said()
    shown: list[tuple[Path, Any]] = []
    for index, block in enumerate(blocks):
        place: Path = (*CONTENT, index)
        match block:
            case {"type": "thinking" | "redacted_thinking"}:
                said.kinds.append(0)
                _read_thinking(block, place, said, unsaid, model, provider)
            case {"type": "tool_use"}:
                said.kinds.append(2)
                _read_call(block, place, said, digest, unsaid)
            case _:
                said.kinds.append(1)
                shown.append((place, block))
    said.content, copies = read_content(shown, unsaid)
    said.copies += copies
    return said


def read_result(block: Json, place: Path, digest: str, unsaid: Unsaid) -> tuple[str, Said]:
    """Return the id of the call that a tool_result block answers, and its content."""
    said = Said()
    call_id = block.get("tool_use_id")
    if not isinstance(call_id, str) or not call_id:
        call_id = made_up_id(digest, place)
        said.made_up.append((*place, "tool_use_id"))
        unsaid[*place, "tool_use_id"] = NOT_TEXT
    content = block.get("content")
    inside: Path = (*place, "content")
    if isinstance(content, str):
        said.content, said.copies = content, [Copy(inside, ("content",))]
    elif isinstance(content, list):
        said.content, said.copies = read_content((((*inside, i), item) for i, item in enumerate(content)), unsaid)
    elif content is not None:
        unsaid[inside] = NO_PLACE
    said.content = said.content or ""
    return call_id, said


def made_up_id(digest: str, place: Path) -> str:
    """Return an id for a call that has none, equal on every run: from the line's text and the place in it."""
    return "call_" + sha256(f"{digest}:{place}".encode()).hexdigest()[:24]


def thinking_of(items: list[Json]) -> Json:
    """Return the standard `thinking` of these items; `encrypted` says that some of it cannot be read."""
    texts = [item["text"] for item in items if item.get("text")]
    return {"content": "\n\n".join(texts) or None, "encrypted": len(texts) < len(items), "items": items}


def _read_thinking(block: Json, place: Path, said: Said, unsaid: Unsaid, model: str, provider: str) -> None:
    names = {"thinking": "text", "signature": "signature", "data": "data"}
    item = {name: block[key] for key, name in names.items() if isinstance(block.get(key), str)}
    unsaid.update({(*place, key): NOT_TEXT for key, name in names.items() if key in block and name not in item})
    if "text" not in item and "data" not in item:
        unsaid[place] = NO_PLACE
        return
    index = len(said.thinking)
    said.copies += [Copy((*place, key), ("thinking", "items", index, name)) for key, name in names.items() if name in item]
    said.thinking.append(item | {"provider": provider} | ({"model": model} if model else {}))


def _read_call(block: Json, place: Path, said: Said, digest: str, unsaid: Unsaid) -> None:
    call_id, name, value = block.get("id"), block.get("name"), block.get("input", {})
    if not isinstance(call_id, str) or not call_id:
        call_id = made_up_id(digest, place)
        said.made_up.append((*place, "id"))
        unsaid[*place, "id"] = NOT_TEXT
    if not isinstance(name, str) or not name:
        name = "unknown"
        said.made_up.append((*place, "name"))
        unsaid[*place, "name"] = NOT_TEXT
    arguments, how = (value, "") if isinstance(value, str) else (codec.dump(value), "json")
    if "input" in block:
        source: Path = ("tool_calls", len(said.tool_calls), "function", "arguments")
        said.copies.append(Copy((*place, "input"), source, "json" if how else ""))
    said.tool_calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}})


def _part(block: Any) -> Json | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image", "source": {"type": "base64", "media_type": str(media), "data": str(data)}}:
            return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{data}"}}
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return {"type": "image_url", "image_url": {"url": url}}
        case {"type": "document", "source": {"type": "base64", "media_type": str(media), "data": str(data)}}:
            title = block.get("title")
            name = title if isinstance(title, str) and title else "document"
            return {"type": "file", "file": {"filename": name, "file_data": f"data:{media};base64,{data}"}}
    return None


def _unsaid_of_media(block: Json, place: Path) -> Unsaid:
    """What an image or a document says that its part does not."""
    unsaid: Unsaid = {}
    source = block.get("source")
    if isinstance(source, dict) and len(source) > (2 if "url" in source else 3):
        unsaid[*place, "source"] = "its source says more than the media type and the data"
    if block["type"] == "document" and "title" in block and not isinstance(block["title"], str):
        unsaid[*place, "title"] = NOT_TEXT
    return unsaid


def _copy(place: Path, part: Json, here: Path) -> Copy:
    match part:
        case {"type": "text"}:
            return Copy((*place, "text"), (*here, "text"))
        case {"type": "file"}:
            return Copy((*place, "source", "data"), (*here, "file", "file_data"), "data")
    if part["image_url"]["url"].startswith("data:"):
        return Copy((*place, "source", "data"), (*here, "image_url", "url"), "data")
    return Copy((*place, "source", "url"), (*here, "image_url", "url"))
