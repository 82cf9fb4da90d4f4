"""What Hermes would refuse, or pass over without a word, in exports: written from its format, knowing nothing of the writer.

Its import refuses all sessions for one that is wrong. When it resumes, it drops results that answer no call of the assistant right
before them; a call that is left without a result it answers itself.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from adapters.conversion import Json
from adapters.hermes.limits import exceeded
from adapters.leaves import leaves
from eventstore.errors import InvalidJson
from eventstore.wire import codec
from eventstore.wire.codec import Number

_SESSION_TEXTS = (
    "user_id model system_prompt end_reason cwd git_branch git_repo_root billing_provider billing_base_url billing_mode "
    "cost_status cost_source pricing_version title parent_session_id"
).split()
_ROW_TEXTS = "tool_call_id tool_name effect_disposition finish_reason reasoning reasoning_content platform_message_id".split()
_surrogate = re.compile("[\ud800-\udfff]")
_SECONDS_MAX = 100_000_000_000  # in the year 5138: a larger number is of milliseconds
_TITLE_MAX = 100


def problems(records: Sequence[Any]) -> list[str]:
    """Return what is wrong with these sessions; nothing for sound ones."""
    found: list[str] = []
    ids: set[str] = set()
    titles: set[str] = set()
    for number, document in enumerate(records, 1):
        if not isinstance(document, dict):
            found.append(f"session {number}: not an object")
            continue
        found += (f"session {number}: {problem}" for problem in _session(document))
        for name, seen in (("id", ids), ("title", titles)):
            value = document.get(name)
            if isinstance(value, str) and value in seen:
                found.append(f"session {number}: another one has this {name}")
            seen.add(value) if isinstance(value, str) else None
    return found


def _session(document: Json) -> Iterator[str]:
    if not isinstance(document.get("id"), str) or not document["id"].strip():
        yield "no id"
    if not isinstance(document.get("source"), str):
        yield "no source"
    yield from _time(document.get("started_at"), "started_at")
    yield from (f"{name} is no text" for name in _SESSION_TEXTS if not isinstance(document.get(name), str | None))
    if not _is_object(document.get("model_config")):
        yield "model_config is no JSON object"
    if isinstance(document.get("title"), str) and len(document["title"]) > _TITLE_MAX:
        yield f"the title has more than {_TITLE_MAX} characters"
    if any(_has_surrogate(path, value) for path, value in leaves(document)):
        yield "half a surrogate pair, which cannot be written"
    yield from exceeded(document)
    rows = document.get("messages")
    if not isinstance(rows, list):
        yield "messages is no list"
        return
    live = [(at, row) for at, row in enumerate(rows, 1) if isinstance(row, dict) and _is_live(row)]
    if not live:
        yield "no live rows: it is found, but has no messages"
    for at, row in enumerate(rows, 1):
        yield from (f"row {at}: {problem}" for problem in (_row(row) if isinstance(row, dict) else ["not an object"]))
    yield from _numbers(rows)
    yield from _pairs(live)


def _row(row: Json) -> Iterator[str]:
    role = row.get("role")
    if role not in ("system", "user", "assistant", "tool", "session_meta"):
        yield "a role that no model knows"
    yield from _time(row.get("timestamp"), "timestamp")
    yield from (f"{name} is no text" for name in _ROW_TEXTS if not isinstance(row.get(name), str | None))
    content = row.get("content")
    if isinstance(content, str) and content.startswith("\0json:"):
        yield "the content begins with the mark of one that is no text"
    elif isinstance(content, list):
        yield from (problem for part in content for problem in _part(part))
    elif not isinstance(content, str | None):
        yield "the content is neither text nor parts"
    calls = row.get("tool_calls")
    if calls is not None:
        yield from _calls(calls) if role == "assistant" else ["calls that no assistant made"]


def _part(part: Any) -> Iterator[str]:
    match part:
        case {"type": "text", "text": str()} | {"type": "image_url", "image_url": {"url": str()}}:
            return
    yield "a part that is neither text nor an image"


def _calls(calls: Any) -> Iterator[str]:
    if not isinstance(calls, list) or not calls:
        yield "tool_calls is no list of calls"
        return
    ids: list[str] = []
    for call in calls:
        match call:
            case {"id": str(call_id), "type": "function", "function": {"name": str(name), "arguments": str()}} if call_id and name:
                ids.append(call_id)
            case _:
                yield "a call without an id, a name or its arguments as text"
    if len(set(ids)) < len(ids):
        yield "two calls of one id"


def _numbers(rows: Sequence[Any]) -> Iterator[str]:
    numbers = [row["id"].as_int() for row in rows if isinstance(row, dict) and isinstance(row.get("id"), Number)]
    known = [number for number in numbers if number is not None]
    if known != sorted(set(known)):
        yield "the rows' numbers are not in their order"


def _pairs(live: Sequence[tuple[int, Json]]) -> Iterator[str]:
    """What is dropped when the live rows are resumed from."""
    names: dict[str, str] = {}  # by each name of an open call, its id
    for at, row in live:
        role = row.get("role")
        if role == "tool":
            name = names.get(str(row.get("tool_call_id")))
            if name is None:
                yield f"row {at}: a result that answers no open call of the assistant before it: dropped on resume"
            names = {other: call for other, call in names.items() if call != name}
            continue
        if role in ("user", "assistant"):
            names = _names(row)


def _names(row: Json) -> dict[str, str]:
    calls = row.get("tool_calls")
    given = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return {str(call[key]): str(call.get("id")) for call in given for key in ("id", "call_id") if call.get(key)}


def _is_live(row: Json) -> bool:
    return row.get("active") is None or row["active"] in (Number("1"), 1)


def _is_object(value: Any) -> bool:
    if isinstance(value, str):
        try:
            value = codec.parse(value)
        except InvalidJson:
            return False
    return value is None or isinstance(value, dict)


def _time(value: Any, name: str) -> Iterator[str]:
    try:
        number = Decimal(value.text if isinstance(value, Number) else str(value))
        is_time = 0 <= number < _SECONDS_MAX
    except InvalidOperation:
        yield f"{name} is no number"
        return
    if not is_time:
        yield f"{name} is no time in seconds"


def _has_surrogate(path: tuple[str | int, ...], value: Any) -> bool:
    return any(isinstance(text, str) and _surrogate.search(text) for text in (*path, value))
