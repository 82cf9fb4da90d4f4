"""What a log of records means: which messages are live, in which order, and by which of its records each is told.

1. A message record with a known id replaces the earlier one, in its place. `$set` with messages replaces the whole list, a
   header with messages adds to it. `$rewindTo` takes away that message and all after it; everything, where its id is unknown.
2. The agent writes a message again and again: a reply when it begins, with its tokens, with its calls and their results; and all
   messages when it resumes, spelled as the model's API has them, often with less beside them. So a message is told by the first
   run of records of its id that says what the newest one says, a reply by the last record of it; a run ends when anything else is
   said. What is
   in the hub then never has to change, and what was known at first (model, tokens, times) is kept.
3. A list that takes away what was said, and begins with something new of the user's, is a compression: that is its summary.
4. The harness tells its own context anew with each start, under one id: the first counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from adapters.conversion import Json
from adapters.gemini.records import Line, calls_in, is_context, is_summary, items_of, kind_of, member, parts_of, plain_text
from eventstore.wire import codec

SUPERSEDED = "superseded: another record of this id tells it"
REWOUND = "rewound: taken back, no longer live"
COMPACTED = "compacted: a summary among the live messages stands for it"
REPLACED = "replaced: the list of messages was set anew, without it"
CONTEXT_AGAIN = "the harness's own context, told anew"


class Place(NamedTuple):
    """Where a message record stands: its line, from 1; and its index in the list that the line sets, or -1 for the line itself."""

    line: int
    item: int = -1


@dataclass(frozen=True, slots=True)
class Live:
    """A live message, and the record that tells it."""

    id: str
    place: Place
    record: Json
    is_open: bool  # may its record still be written again?
    is_summary: bool  # does it stand for what a compression took away?


@dataclass(frozen=True, slots=True)
class Log:
    """What the lines add up to. `dead`: why the other message records are no message; `off_branch`: why an id is not live."""

    live: list[Live]
    dead: Mapping[Place, str]
    off_branch: Mapping[str, str]
    metadata: Json


@dataclass(slots=True)
class _Fold:
    live: dict[str, Place] = field(default_factory=dict)
    records: dict[Place, Json] = field(default_factory=dict)
    runs: dict[str, dict[int, list[Place]]] = field(default_factory=dict)  # by id: by run, where its records stand
    gone: dict[str, str] = field(default_factory=dict)
    dead: dict[Place, str] = field(default_factory=dict)
    summaries: set[Place] = field(default_factory=set)
    metadata: Json = field(default_factory=dict)
    run: int = 0
    speaker: str | None = None  # whose record came last


def fold(lines: Sequence[Line]) -> Log:
    """Return what a log of lines means."""
    state = _Fold()
    for line in lines:
        _apply(state, line)
    chosen = [_chosen(state, native_id) for native_id in state.live]
    told = {live.place for live in chosen}
    dead = {place: _why(state, place) for place in state.records if place not in told}
    off_branch = {native_id: why for native_id, why in state.gone.items() if native_id not in state.live}
    return Log(chosen, dead, off_branch, state.metadata)


def essence(record: Json) -> str:
    """What a record says, less how it is spelled: equal for two records of one message."""
    content = record.get("content")
    calls = [call for _, call in calls_in(content)]
    if not calls:
        held = record.get("toolCalls")
        calls = [call for call in held if isinstance(call, dict)] if isinstance(held, list) else []
    media = [part for part in parts_of(content) if member(part, "inlineData") or member(part, "fileData")]
    answers = [answer for part in parts_of(content) if (answer := member(part, "functionResponse")) is not None]
    said: list[Any] = [
        record.get("type"),
        "".join(_spoken(part) for part in parts_of(content)),
        [[call.get("name"), call.get("args")] for call in calls],
        media,
        answers,
    ]
    return codec.canonical(said)


def _spoken(part: Any) -> str:
    return "" if isinstance(part, dict) and part.get("thought") else plain_text(part)


def _apply(state: _Fold, line: Line) -> None:
    record = line.record
    match kind_of(record):
        case "$rewindTo":
            _rewind(state, record["$rewindTo"])
        case "message":
            _say(state, Place(line.number), record)
        case "$set":
            if isinstance(record["$set"].get("messages"), list):
                _set_anew(state, line)
            state.metadata |= {name: value for name, value in record["$set"].items() if name != "messages"}
        case "header":
            if items_of(record):
                _set_anew(state, line, keep=True)
            state.metadata |= {name: value for name, value in record.items() if name != "messages"}


def _say(state: _Fold, place: Place, record: Json) -> None:
    native_id = record["id"]
    if state.speaker != native_id:
        state.run += 1
        state.speaker = native_id
    _put(state, place, record)


def _put(state: _Fold, place: Place, record: Json) -> None:
    state.records[place] = record
    state.live[record["id"]] = place
    state.runs.setdefault(record["id"], {}).setdefault(state.run, []).append(place)


def _rewind(state: _Fold, native_id: str) -> None:
    _cut(state)
    ids = list(state.live)
    for gone in ids[ids.index(native_id) if native_id in state.live else 0 :]:
        state.gone[gone] = state.dead[state.live.pop(gone)] = REWOUND


def _set_anew(state: _Fold, line: Line, *, keep: bool = False) -> None:
    """Replace the list; a header adds to it (`keep`)."""
    _cut(state)
    before = {} if keep else dict(state.live)
    if not keep:
        state.live.clear()
    items = [
        (at, item) for at, item in enumerate(items_of(line.record)) if isinstance(item, dict) and isinstance(item.get("id"), str)
    ]
    first = next(((at, item) for at, item in items if not is_context(item)), None)
    is_new = first is not None and first[1].get("type") == "user" and first[1]["id"] not in state.runs
    for at, item in items:
        _put(state, Place(line.number, at), item)
    gone = {native_id: place for native_id, place in before.items() if native_id not in state.live}
    is_compression = is_new and any(not is_context(state.records[place]) for place in gone.values())
    if first and is_compression:
        state.summaries.add(Place(line.number, first[0]))
    for native_id, place in gone.items():
        state.gone[native_id] = state.dead[place] = COMPACTED if is_compression else REPLACED


def _cut(state: _Fold) -> None:
    state.run += 1
    state.speaker = None


def _chosen(state: _Fold, native_id: str) -> Live:
    """The record that tells a live message (laws 2 and 4)."""
    newest = state.records[state.live[native_id]]
    runs = state.runs[native_id]
    what, context = essence(newest), is_context(newest)
    for run, places in runs.items():
        saying = [place for place in places if _says(state.records[place], what, context)]
        if saying:
            place = saying[-1 if newest.get("type") == "gemini" else 0]
            is_open = run == state.run and state.speaker == native_id
            record = state.records[place]
            return Live(native_id, place, record, is_open, place in state.summaries or is_summary(record))
    raise AssertionError("the newest record says what it says")


def _says(record: Json, what: str, context: bool) -> bool:
    return (context and is_context(record)) or essence(record) == what


def _why(state: _Fold, place: Place) -> str:
    record = state.records[place]
    if record["id"] not in state.live:
        return state.dead.get(place, state.gone.get(record["id"], SUPERSEDED))
    return CONTEXT_AGAIN if is_context(record) else SUPERSEDED
