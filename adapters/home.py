"""The way home, for every agent: the line that a session kept of its file, and what becomes of a message whose line goes back.

What the line says, read again, is converted; what a message says otherwise was changed since, and the line goes home as it was.
"""

from base64 import b64decode
from collections.abc import Collection
from functools import partial
from typing import Any

from adapters.conversion import Json
from adapters.fates_out import HUBS, HUBS_METADATA, HUBS_OWN, NO_PLACE
from adapters.json_lines import Parsed, parse_line
from adapters.leaves import CONVERTED, Fate, Path, account, path_of
from adapters.report import Report
from adapters.said import lay
from adapters.session import place_of
from eventstore.errors import InvalidJson
from eventstore.wire import codec

Held = tuple[Json | None, bytes]  # a line's object, or None and its text

BROKEN = (KeyError, IndexError, TypeError, ValueError, AttributeError, InvalidJson)  # of a record that is not whole
OUTDATED = "a newer record of this line counts"
UNUSABLE = "its record is not whole; written from what the message says"
EDITED = Fate("dropped", "the record of the agent itself goes home, and it says something else")
COMPARED = ("role", "content", "tool_calls", "tool_call_id", "thinking")
_TOLD = frozenset({*COMPARED, "created_at"})
_HUBS = frozenset({(name,) for name in (*HUBS, "append_id")}.union(map(path_of, HUBS_METADATA)))  # whatever was said


def laid(native: Json, message: Json) -> Held | None:
    """Return the line of a message, or None when its record is not whole. Whether it holds an object is to be asked of `parsed`."""
    raw, record = native.get("raw"), native.get("record")
    if isinstance(raw, str):
        return None, raw.encode("utf-8", "surrogatepass")
    if not isinstance(record, dict):
        return None
    try:
        return _held(lay(record, message, native.get("said", ())))
    except BROKEN:
        return None


def kept(record: Any) -> Held | None:
    """Return the line that a native record holds, or None where it is none that a reader of lines made."""
    match record:
        case {"record": value}:
            return _held(value)
        case {"raw": str(text)}:
            return None, text.encode("utf-8", "surrogatepass")
        case {"base64": str(text)}:
            raw = decoded(text)
            return None if raw is None else (None, raw)
    return None


def decoded(text: str) -> bytes | None:
    """Return the bytes that are kept as base64, None where it is none."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return None


def parsed(held: Held) -> Parsed:
    value, raw = held
    return parse_line(raw) if value is None else Parsed(None, value, "", True)


def changed_in(message: Json, said: Json) -> frozenset[str]:
    """Return the fields that say something else than the message `said`, as the line is read again."""
    return frozenset(name for name in COMPARED if message.get(name) != said.get(name))


def account_message(report: Report, message: Json, index: int, changed: Collection[str], metadata: Collection[str]) -> None:
    """Count a message that goes home, and each of its leaves. `metadata`: the names in it that the agent's reader fills."""
    report.found("entries")
    report.converted("entries")
    report.message(message["role"])
    shown = {name: value for name, value in message.items() if name != "native"}
    account(report, shown, partial(_fate, changed, metadata), place_of(message, index))


def account_others(report: Report, unit: str, entry: Json, order: int) -> None:
    """Count native records of another agent: they stay behind."""
    count = max(1, len(entry["records"]))
    report.found(unit, count)
    report.note("kept_native", f"{unit}/other agent", "records of another agent", f"entry {order + 1}", count)


def account_unreadable(report: Report, unit: str, order: int, what: str = "line") -> None:
    """Count a native record that is none that the agent's reader made."""
    report.found(unit)
    report.note("dropped", f"{unit}/unreadable", f"a native record that names no {what}", f"entry {order + 1}")


def _held(value: Any) -> Held:
    return (value, b"") if isinstance(value, dict) else (None, codec.dump(value).encode())


def _fate(changed: Collection[str], metadata: Collection[str], path: Path, value: Any) -> Fate:
    if path[0] in changed:
        return EDITED
    if path[:1] in _HUBS or path[:2] in _HUBS:
        return HUBS_OWN
    is_told = path[0] in _TOLD or (path[0] == "metadata" and (len(path) == 1 or path[1] in metadata))
    return CONVERTED if is_told else NO_PLACE
