"""An export document: `{info, messages: [{info, parts}]}`; its records' keys, and the few facts of them that a reader needs.

What may still change after a message was said is kept apart (`settled`), so that a message in the log never has to change: a
user message's summary, which is written when its turn is over, and the mark of a tool output that was pruned.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from adapters.conversion import Json
from adapters.json_lines import LENIENT
from adapters.values import depth_of, int_of, object_of, text_of
from eventstore.errors import InvalidJson
from eventstore.wire import codec

AGENT = "opencode"
NESTING_MAX = codec.NESTING_MAX - 6  # a record stands at most six levels deep in what is sent


def parse_document(raw: bytes) -> tuple[Any, str]:
    """Return the value of an export's bytes and "", or None and what is wrong with it. Never raises."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None, "not UTF-8"
    text = text.removeprefix("\ufeff")
    try:
        return codec.parse(text), ""
    except InvalidJson as error:
        problem = error.detail
    try:
        return LENIENT.decode(text), "a key stands twice in one object: the last one counts, the others are lost"
    except (ValueError, RecursionError):
        return None, problem


def keys_of(messages: Sequence[Any]) -> list[str]:
    """The name of each record: its own id, or `#<place>` where it has none that no other has."""
    ids = [text_of(info_of(record), "id") for record in messages]
    count = Counter(ids)
    return [name if name and count[name] == 1 else f"#{place}" for place, name in enumerate(ids)]


def in_order(keys: Sequence[str], messages: Sequence[Any]) -> list[int]:
    """The places in the order in which OpenCode reads them: by time of creation, then by id."""

    def order(place: int) -> tuple[int, str, int]:
        created = int_of(object_of(info_of(messages[place]), "time").get("created"))
        return (created if created is not None else 0, keys[place], place)

    return sorted(range(len(messages)), key=order)


def is_message(record: Any) -> bool:
    """Is it a record that says something: of a known role, with parts?"""
    parts = record.get("parts") if isinstance(record, dict) else None
    return isinstance(parts, list) and info_of(record).get("role") in ("user", "assistant")


def settled(record: Json) -> tuple[Json, list[list[Any]]]:
    """Return the record without what may still change, and that: `[path, value]` each."""
    later: list[list[Any]] = []
    if record["info"].get("role") == "user" and "summary" in record["info"]:
        later.append([["info", "summary"], record["info"]["summary"]])
        record = record | {"info": {key: value for key, value in record["info"].items() if key != "summary"}}
    for index, part in enumerate(record["parts"]):
        time = object_of(object_of(part, "state"), "time")
        if "compacted" in time:
            later.append([["parts", index, "state", "time", "compacted"], time["compacted"]])
            rest = {key: value for key, value in time.items() if key != "compacted"}
            parts = [*record["parts"]]
            parts[index] = part | {"state": part["state"] | {"time": rest}}
            record = record | {"parts": parts}
    return record, later


def put(value: Any, path: Sequence[Any], new: Any) -> Any:
    """Return the value with one place set; containers on the way are copied. Raises KeyError, IndexError, TypeError."""
    if not path:
        return new
    step = int_of(path[0]) if not isinstance(path[0], str) else path[0]
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    inner = value.get(step) if isinstance(value, dict) and len(path) == 1 else value[step]
    copied[step] = put(inner, path[1:], new)
    return copied


def as_kept(record: Any) -> Json:
    """How a record is kept: `{record}`, or `{raw}` where it is nested too deep to be sent as a value."""
    return {"record": record} if depth_of(record) <= NESTING_MAX else {"raw": codec.dump(record)}


def from_kept(kept: Json) -> Any:
    """The record. Raises KeyError, InvalidJson."""
    return codec.parse(kept["raw"]) if isinstance(kept.get("raw"), str) else kept["record"]


def info_of(record: Any) -> Json:
    return object_of(record, "info")


def parts_of(record: Any) -> list[Json]:
    """The parts that are objects; in a record that is a message, all of them matter, also others: see `is_message`."""
    parts = record.get("parts") if isinstance(record, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def is_number(value: Any) -> bool:
    return isinstance(value, codec.Number | int | float) and not isinstance(value, bool)


def join_lines(lines: Iterable[bytes]) -> bytes:
    """A file as one text: its lines have their ends, or stand for themselves."""
    return b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)
