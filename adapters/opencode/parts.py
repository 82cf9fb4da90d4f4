"""Parts of one message: text, files, reasoning and tools, to what a standard message has for them.

A part, or a field of one, that has no place there is named in `unsaid` with the reason; it stays in the native record and in the
report. Every value that goes over verbatim is named in `copies`, so that it is kept once.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from adapters.conversion import Json
from adapters.leaves import Path
from adapters.said import Copy, Said, Unsaid
from adapters.values import object_of, text_of
from eventstore.wire import codec

NO_PLACE = "a standard message has no place for this part"
HOST_FILE = "points to a file of that host"
NOT_SENT = "not sent to the model: what it holds stands in a synthetic text beside it"
NO_TEXT = "its text is no string"
BAD_STATE = "a tool state of an unknown shape"

Placed = Sequence[tuple[Path, Any]]


def read_shown(parts: Placed, unsaid: Unsaid) -> tuple[str | list[Json] | None, list[Copy]]:
    """Return the content that text and file parts make: a string for one text, else parts in order, None for none."""
    shown = [(place, part) for place, raw in parts if (part := _shown(raw, place, unsaid)) is not None]
    if len(shown) == 1 and shown[0][1]["type"] == "text":
        place, part = shown[0]
        return part["text"], [Copy((*place, "text"), ("content",))]
    copies = [_copy(place, part, ("content", index)) for index, (place, part) in enumerate(shown)]
    return [part for _, part in shown] or None, copies


def read_step(parts: Placed, provider: str, model: str, key: str, unsaid: Unsaid) -> Said:
    """Return what the parts of one step of an assistant say. Each kind keeps its order."""
    said = Said()
    shown: list[tuple[Path, Any]] = []
    for place, part in parts:
        match part:
            case {"type": "reasoning"}:
                said.kinds.append(0)
                _read_reasoning(part, place, said, unsaid, provider, model)
            case {"type": "tool"}:
                said.kinds.append(2)
                _read_call(part, place, said, key, unsaid)
            case {"type": "text" | "file"}:
                said.kinds.append(1)
                shown.append((place, part))
            case _:
                unsaid[place] = NO_PLACE
    said.content, copies = read_shown(shown, unsaid)
    said.copies += copies
    return said


def read_result(part: Json, place: Path, unsaid: Unsaid) -> tuple[Json, list[Copy]] | None:
    """Return content and metadata of the result that a tool part holds, or None while it has none."""
    state = object_of(part, "state")
    inside: Path = (*place, "state")
    status = state.get("status")
    if status == "completed" and isinstance(state.get("output"), str):
        content, copies = _output(state, inside, unsaid)
        return {"content": content, "metadata": {"origin": "agent", "is_error": False, "status": "complete"}}, copies
    if status == "error":
        told = object_of(state, "metadata")
        is_interrupted = told.get("interrupted") is True
        metadata = {"origin": "agent", "is_error": True, "status": "interrupted" if is_interrupted else "error"}
        if is_interrupted and isinstance(told.get("output"), str):  # OpenCode sends what came before the interruption
            unsaid[*inside, "error"] = "what came before the interruption is said instead, as OpenCode does"
            return {"content": told["output"], "metadata": metadata}, [Copy((*inside, "metadata", "output"), ("content",))]
        if isinstance(state.get("error"), str):
            return {"content": state["error"], "metadata": metadata}, [Copy((*inside, "error"), ("content",))]
        return {"content": "", "metadata": metadata}, []
    if status not in ("pending", "running"):
        unsaid[inside] = BAD_STATE
    return None


def thinking_of(items: list[Json]) -> Json:
    """Return the standard `thinking` of these items; `encrypted` says that some of it cannot be read."""
    texts = [item["text"] for item in items if item.get("text")]
    return {"content": "\n\n".join(texts) or None, "encrypted": any("data" in item for item in items), "items": items}


def child_session(part: Any) -> str:
    """The session that a `task` call started, where the part tells."""
    return text_of(object_of(object_of(part, "state"), "metadata"), "sessionId") if text_of(part, "tool") == "task" else ""


def _output(state: Json, inside: Path, unsaid: Unsaid) -> tuple[str | list[Json], list[Copy]]:
    attachments = state.get("attachments")
    placed: Iterable[tuple[Path, Any]] = ()
    if isinstance(attachments, list):
        placed = (((*inside, "attachments", index), item) for index, item in enumerate(attachments))
    files = [(place, part) for place, raw in placed if (part := _shown(raw, place, unsaid)) is not None]
    if not files:
        return state["output"], [Copy((*inside, "output"), ("content",))]
    text = {"type": "text", "text": state["output"]}
    copies = [Copy((*inside, "output"), ("content", 0, "text"))]
    copies += [_copy(place, part, ("content", index)) for index, (place, part) in enumerate(files, 1)]
    return [text, *(part for _, part in files)], copies


def _read_reasoning(part: Json, place: Path, said: Said, unsaid: Unsaid, provider: str, model: str) -> None:
    """Providers keep their own data in the part's metadata, under the name of their kind."""
    if not isinstance(part.get("text"), str):
        unsaid[place] = NO_TEXT
        return
    item: Json = {"text": part["text"]}
    here: Path = ("thinking", "items", len(said.thinking))
    said.copies.append(Copy((*place, "text"), (*here, "text")))
    for kind, names in REASONING_METADATA.items():
        told = object_of(object_of(part, "metadata"), kind)
        for key, name in names.items():
            if isinstance(told.get(key), str) and name not in item:
                item[name] = told[key]
                said.copies.append(Copy((*place, "metadata", kind, key), (*here, name)))
            elif key in told:
                unsaid[*place, "metadata", kind, key] = NO_PLACE
    said.thinking.append(item | ({"provider": provider} if provider else {}) | ({"model": model} if model else {}))


REASONING_METADATA = {
    "anthropic": {"signature": "signature", "redactedData": "data"},
    "openai": {"itemId": "id", "reasoningEncryptedContent": "data"},
}


def _read_call(part: Json, place: Path, said: Said, key: str, unsaid: Unsaid) -> None:
    call_id, name, state = text_of(part, "callID"), text_of(part, "tool"), object_of(part, "state")
    if not call_id:
        call_id = "call_" + sha256(f"{key}:{place}".encode("utf-8", "surrogatepass")).hexdigest()[:24]
        said.made_up.append((*place, "callID"))
    if not name:
        name = "unknown"
        said.made_up.append((*place, "tool"))
    source: Path = ("tool_calls", len(said.tool_calls), "function", "arguments")
    raw = text_of(state, "raw")
    if state.get("status") == "pending" and raw:
        arguments = raw
        said.copies.append(Copy((*place, "state", "raw"), source))
        unsaid[*place, "state", "input"] = "the raw text that the model wrote is said instead"
    elif "input" in state:
        arguments = codec.dump(state["input"])
        said.copies.append(Copy((*place, "state", "input"), source, "json"))
    else:
        arguments = "{}"
        said.made_up.append((*place, "state", "input"))
    if not isinstance(part.get("state"), dict) and "state" in part:
        unsaid[*place, "state"] = BAD_STATE
    said.tool_calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}})


def _shown(part: Any, place: Path, unsaid: Unsaid) -> Json | None:
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "file", "mime": "text/plain" | "application/x-directory"}:
            unsaid[place] = NOT_SENT
        case {"type": "file", "mime": str(mime), "url": str(url)} if url.startswith("data:") or mime.startswith("image/"):
            return _file(part, mime, url, place, unsaid)
        case {"type": "file"}:
            unsaid[place] = HOST_FILE
        case _:
            unsaid[place] = NO_PLACE
    return None


def _file(part: Json, mime: str, url: str, place: Path, unsaid: Unsaid) -> Json | None:
    if not url.startswith(("data:", "http:", "https:")):
        unsaid[place] = HOST_FILE
        return None
    name = text_of(part, "filename")
    if mime.startswith("image/"):
        if "filename" in part:
            unsaid[*place, "filename"] = "an image has no name in a standard message"
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": name or "document", "file_data": url}}


def _copy(place: Path, part: Json, here: Path) -> Copy:
    match part["type"]:
        case "text":
            return Copy((*place, "text"), (*here, "text"))
        case "file":
            return Copy((*place, "url"), (*here, "file", "file_data"))
    return Copy((*place, "url"), (*here, "image_url", "url"))
