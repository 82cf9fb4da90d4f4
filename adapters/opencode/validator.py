"""What keeps OpenCode from importing an export whole and going on with it; from what it does (1.18.33), not from our writer.

It checks as it inserts, so one bad record leaves a session in part; ids that exist already are skipped without a word; a message of
the future makes a resume do nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_REQUIRED_INFO = ("id", "slug", "projectID", "directory", "title", "version", "time")
_REQUIRED_USER = ("agent", "model")
_REQUIRED_ASSISTANT = ("parentID", "modelID", "providerID", "mode", "agent", "path", "cost", "tokens")
_REQUIRED_PART: Mapping[str, Sequence[str]] = {
    "text": ("text",),
    "reasoning": ("text", "time"),
    "tool": ("callID", "tool", "state"),
    "file": ("mime", "url"),
    "step-start": (),
    "step-finish": ("reason", "cost", "tokens"),
    "snapshot": ("snapshot",),
    "patch": ("hash", "files"),
    "agent": ("name",),
    "retry": ("attempt", "error", "time"),
    "subtask": ("prompt", "description", "agent"),
    "compaction": ("auto",),
}
_REQUIRED_STATE: Mapping[str, Sequence[str]] = {
    "pending": ("input", "raw"),
    "running": ("input", "time"),
    "completed": ("input", "output", "title", "metadata", "time"),
    "error": ("input", "error", "time"),
}


def problems(records: Sequence[Any], now_ms: int = 0) -> list[str]:
    """Return what OpenCode would refuse, overlook or stumble over in one export document; nothing for a sound one.

    `now_ms`: no message may be later; 0: the clock is not asked.
    """
    if len(records) != 1 or not isinstance(records[0], dict):
        return ["there must be one export document"]
    return [*_of_document(records[0], now_ms)]


def _of_document(document: Mapping[str, Any], now_ms: int) -> Iterator[str]:
    info, messages = document.get("info"), document.get("messages")
    if not isinstance(info, dict) or not isinstance(messages, list):
        yield "there must be `info` and `messages`"
        return
    yield from _missing(info, _REQUIRED_INFO, "info")
    yield from _prefix(info.get("id"), "ses", "info.id")
    yield from _times(info, "info", ("created", "updated"))
    for key in ("slug", "title", "version", "directory"):
        if key in info and not isinstance(info[key], str):
            yield f"info.{key} is no string"
    seen: Counter[str] = Counter()
    users: set[str] = set()
    before: tuple[int, str] = (-1, "")
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if not isinstance(message, dict) or not isinstance(message.get("info"), dict) or not isinstance(message.get("parts"), list):
            yield f"{where}: there must be `info` and `parts`"
            continue
        told = message["info"]
        holders = [told, *(part for part in message["parts"] if isinstance(part, dict))]
        seen.update(name for holder in holders if isinstance(name := holder.get("id"), str))
        yield from _of_message(message, where, info.get("id"), users)
        created = _int(told.get("time", {}).get("created")) if isinstance(told.get("time"), dict) else None
        if created is not None:
            if (created, str(told.get("id"))) <= before:
                yield f"{where}: does not come after the message before it, by time and id"
            if now_ms and created > now_ms:
                yield f"{where}: later than now"
            before = (created, str(told.get("id")))
        if told.get("role") == "user" and isinstance(told.get("id"), str):
            users.add(told["id"])
    yield from (f"the id {name} stands {count} times" for name, count in seen.items() if count > 1)


def _of_message(message: Mapping[str, Any], where: str, session_id: Any, users: set[str]) -> Iterator[str]:
    info = message["info"]
    yield from _missing(info, ("id", "sessionID", "role", "time"), where)
    yield from _prefix(info.get("id"), "msg", f"{where}.id")
    yield from _times(info, where, ("created",))
    if info.get("sessionID") != session_id:
        yield f"{where}: of another session"
    if info.get("role") == "user":
        yield from _missing(info, _REQUIRED_USER, where)
        yield from _missing(info.get("model"), ("providerID", "modelID"), f"{where}.model")
    elif info.get("role") == "assistant":
        yield from _missing(info, _REQUIRED_ASSISTANT, where)
        yield from _missing(info.get("path"), ("cwd", "root"), f"{where}.path")
        yield from _missing(info.get("tokens"), ("input", "output", "reasoning", "cache"), f"{where}.tokens")
        if not isinstance(info.get("parentID"), str) or info["parentID"] not in users:
            yield f"{where}: parentID names no user message before it"
    else:
        yield f"{where}: role is neither user nor assistant"
    last = ""
    for index, part in enumerate(message["parts"]):
        yield from _of_part(part, f"{where}.parts[{index}]", info)
        part_id = part.get("id") if isinstance(part, dict) else None
        if isinstance(part_id, str):
            if part_id <= last:
                yield f"{where}.parts[{index}]: its id does not sort after the one before it"
            last = part_id


def _of_part(part: Any, where: str, info: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(part, dict):
        yield f"{where} is no object"
        return
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in _REQUIRED_PART:
        yield f"{where}: unknown type"
        return
    yield from _missing(part, ("id", "sessionID", "messageID", *_REQUIRED_PART[kind]), where)
    yield from _prefix(part.get("id"), "prt", f"{where}.id")
    if part.get("messageID") != info.get("id") or part.get("sessionID") != info.get("sessionID"):
        yield f"{where}: of another message or session"
    if kind in ("text", "reasoning") and not isinstance(part.get("text"), str):
        yield f"{where}.text is no string"
    if kind == "reasoning":
        yield from _times(part, where, ("start",))
    if kind == "tool":
        yield from _of_state(part.get("state"), f"{where}.state")
        if not isinstance(part.get("callID"), str) or not part.get("callID"):
            yield f"{where}.callID is no id"


def _of_state(state: Any, where: str) -> Iterator[str]:
    status = state.get("status") if isinstance(state, dict) else None
    if not isinstance(status, str) or status not in _REQUIRED_STATE:
        yield f"{where}: unknown status"
        return
    yield from _missing(state, _REQUIRED_STATE[status], where)
    if not isinstance(state.get("input"), dict):
        yield f"{where}.input is no object"
    for key in ("output", "error", "title"):
        if key in _REQUIRED_STATE[status] and not isinstance(state.get(key), str):
            yield f"{where}.{key} is no string"
    if status in ("completed", "error"):
        yield from _times(state, where, ("start", "end"))
    attached = state.get("attachments")
    if not isinstance(attached, list | None):
        yield f"{where}.attachments is no list"
    for index, file in enumerate(attached if isinstance(attached, list) else ()):
        yield from _missing(file, ("id", "sessionID", "messageID", "type", "mime", "url"), f"{where}.attachments[{index}]")


def _missing(holder: Any, keys: Sequence[str], where: str) -> Iterator[str]:
    if not isinstance(holder, dict):
        yield f"{where} is no object"
        return
    yield from (f"{where}: missing {key}" for key in keys if key not in holder)


def _prefix(value: Any, prefix: str, where: str) -> Iterator[str]:
    if not isinstance(value, str) or not value.startswith(prefix):
        yield f"{where} must begin with {prefix}"


def _times(holder: Mapping[str, Any], where: str, keys: Sequence[str]) -> Iterator[str]:
    time = holder.get("time")
    for key in keys:
        if not isinstance(time, dict) or (_int(time.get(key)) or -1) < 0:
            yield f"{where}.time.{key} is no time"


def _int(value: Any) -> int | None:
    """A whole number, spelled or held as one."""
    text = str(value) if not isinstance(value, str | bool | float) else ""
    return int(text) if text.isdigit() and len(text) <= 18 else None
