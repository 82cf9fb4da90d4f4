"""What Gemini CLI would pass over, or not find, in a session's lines: written from its format, knowing nothing of the writer.

It reads a log leniently: what it does not understand is gone without a word. What it heals by itself when it resumes (a call
without a result, a reply at the beginning) is no problem here.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

Json = dict[str, Any]
_surrogate = re.compile("[\ud800-\udfff]")
_TYPES = ("user", "gemini", "info", "error", "warning")
_STATUSES = ("validating", "scheduled", "executing", "awaiting_approval", "success", "error", "cancelled")


def problems(records: Sequence[Any]) -> list[str]:
    """Return what is wrong with a session, given as its lines; nothing for a sound one."""
    found: list[str] = []
    parsed: list[tuple[int, Json]] = []
    for number, raw in enumerate(records, 1):
        value, problem = _parsed(raw)
        found += [f"line {number}: {problem}"] if problem else []
        parsed += [(number, value)] if value else []
    if not parsed or not _is_text(parsed[0][1], "sessionId") or not _is_text(parsed[0][1], "projectHash"):
        found.append("line 1: no header with sessionId and projectHash: the session is not found")
    live: dict[str, tuple[int, Json]] = {}
    for number, value in parsed:
        found += (f"line {number}: {problem}" for problem in _apply(live, number, value))
    for number, record in live.values():
        found += (f"line {number}: {problem}" for problem in _message(record))
    found += _orphans(list(live.values()))
    if not any(map(_is_resumable, (record for _, record in live.values()))):
        found.append("nothing that was said: the session is not listed")
    return found


def _parsed(raw: Any) -> tuple[Json, str]:
    if not isinstance(raw, bytes):
        return {}, "not a line"
    body = raw.removesuffix(b"\n")
    try:
        text = body.decode("utf-8")
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}, "not JSON: passed over"
    if "\n" in text or "\r" in text:
        return {}, "a line end inside it: both halves are passed over"
    if not isinstance(value, dict):
        return {}, "no object: passed over"
    return value, ""


def _apply(live: dict[str, tuple[int, Json]], number: int, value: Json) -> Iterator[str]:
    """Do to the list of messages what a line does."""
    if isinstance(value.get("$rewindTo"), str):
        ids = list(live)
        if value["$rewindTo"] not in live:
            yield "a rewind to an unknown message: everything is gone"
        for gone in ids[ids.index(value["$rewindTo"]) if value["$rewindTo"] in live else 0 :]:
            del live[gone]
    elif isinstance(value.get("id"), str):
        live[value["id"]] = number, value
    elif isinstance(value.get("$set"), dict):
        if isinstance(value["$set"].get("messages"), list):
            live.clear()
            yield from _set(live, number, value["$set"]["messages"])
    elif _is_text(value, "sessionId") and _is_text(value, "projectHash"):
        yield from (f"{name} is no time" for name in ("startTime", "lastUpdated") if not _is_time(value.get(name)))
        messages = value.get("messages", [])
        yield from _set(live, number, messages) if isinstance(messages, list) else ["messages is no list"]
    else:
        yield "no record that is known: passed over"


def _set(live: dict[str, tuple[int, Json]], number: int, messages: list[Any]) -> Iterator[str]:
    for message in messages:
        if isinstance(message, dict) and isinstance(message.get("id"), str):
            live[message["id"]] = number, message
        else:
            yield "a message without an id: passed over"


def _message(record: Json) -> Iterator[str]:
    if record.get("type") not in _TYPES:
        yield "a message of an unknown type"
    if not _is_time(record.get("timestamp")):
        yield "a message without a time"
    content = record.get("content")
    if isinstance(content, list):
        yield from (problem for part in content for problem in _part(part))
    elif not isinstance(content, str | dict):
        yield "a message without a content"
    if _surrogate.search(json.dumps(record, ensure_ascii=False)):
        yield "half a surrogate pair, which the model's API refuses"
    calls = record.get("toolCalls")
    if calls is not None:
        yield from _calls(calls)


def _part(part: Any) -> Iterator[str]:
    match part:
        case {"inlineData": {"displayName": _}}:
            yield "a name beside a file's data, which ends every later request"
            return
        case str() | {"text": str()} | {"inlineData": {"mimeType": str(), "data": str()}} | {"fileData": {"fileUri": str()}}:
            return
        case {"functionCall": {"name": str()}} | {"functionResponse": {"name": str(), "response": dict()}}:
            return
        case {"executableCode": dict()} | {"codeExecutionResult": dict()}:
            return
    yield "a part that the model's API does not know"


def _calls(calls: Any) -> Iterator[str]:
    if not isinstance(calls, list):
        yield "toolCalls is no list"
        return
    ids: list[str] = []
    for call in calls:
        match call:
            case {"id": str(call_id), "name": str(name), "args": dict(), "status": str(status)} if call_id and name:
                ids.append(call_id)
                if status not in _STATUSES:
                    yield "a call of an unknown status"
                result = call.get("result")
                if isinstance(result, list):
                    yield from (problem for part in result for problem in _part(part))
                elif not isinstance(result, str | dict | None):
                    yield "a result that is neither text nor parts"
            case _:
                yield "a call without an id, a name, arguments or a status"
    if len(set(ids)) < len(ids):
        yield "two calls of one id"


def _orphans(live: Sequence[tuple[int, Json]]) -> Iterator[str]:
    """Responses whose call is not in what is sent: the agent makes up a call for them."""
    called: set[tuple[str, str]] = set()
    for number, record in live:
        parts = [part for part in _parts(record.get("content")) if isinstance(part, dict)]
        beside = record.get("toolCalls")
        calls = [call for call in beside if isinstance(call, dict)] if isinstance(beside, list) else []
        named = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)] + calls
        called |= {(str(call.get("id")), str(call.get("name"))) for call in named}
        results = [part for call in calls for part in _parts(call.get("result")) if isinstance(part, dict)]
        for part in parts + results:
            response = part.get("functionResponse")
            if isinstance(response, dict) and (str(response.get("id")), str(response.get("name"))) not in called:
                yield f"line {number}: a response to a call that nobody made"


def _is_resumable(record: Json) -> bool:
    text = "".join(part if isinstance(part, str) else str(part.get("text", "[part]")) for part in _parts(record.get("content")))
    text = text.strip().strip("\ufeff")
    if record.get("type") == "user":
        return bool(text) and not text.startswith(("/", "?", "<session_context>", "<hook_context>"))
    return record.get("type") == "gemini" and bool(text or record.get("toolCalls") or record.get("thoughts"))


def _parts(content: Any) -> list[Any]:
    parts = content if isinstance(content, list) else [content]
    return [part for part in parts if isinstance(part, str | dict)]


def _is_text(value: Json, name: str) -> bool:
    return isinstance(value.get(name), str) and bool(value[name])


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False
