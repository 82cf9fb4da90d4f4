"""What a log of records means: which messages are live, in which order, and by which of its records each is told.

1. A message record with a known id replaces the earlier one, in its place. `$set` with messages replaces the whole list, a
   header with messages adds to it. `$rewindTo` takes away that message and all after it; everything, where its id is unknown.
2. The agent writes a message again and again: a reply when all its words have come, and again when its calls are done, which may be
   much later; and all messages when it resumes, spelled as the model's API has them, often with less beside them. So a message is
   told by the first record of its id that says what the newest one says. Of a reply with calls, each record that says its words and
   the first of its calls tells what is more in it than in those before: its words and thoughts are told while its calls still run.
   What is in the hub then never has to change, and what was known at first (model, tokens, times) is kept.
3. Calls without their results are told by the last record of a run that has them; a run ends when anything else is said.
4. A list that takes away what was said, and begins with something new of the user's, is a compression: that is its summary.
5. The harness tells its own context anew with each start, under one id: the first counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from adapters.conversion import Json
from adapters.gemini.essence import Essence, essence_of
from adapters.gemini.records import Line, is_context, is_summary, items_of, kind_of

SUPERSEDED = "superseded: another record of this id tells it"
REWOUND = "rewound: taken back, no longer live"
COMPACTED = "compacted: a summary among the live messages stands for it"
REPLACED = "replaced: the list of messages was set anew, without it"
NOTHING = "nothing is said in it"
CONTEXT_AGAIN = "the harness's own context, told anew"


class Place(NamedTuple):
    """Where a message record stands: its line, from 1; and its index in the list that the line sets, or -1 for the line itself."""

    line: int
    item: int = -1


@dataclass(frozen=True, slots=True)
class Telling:
    """A record that tells a live message, or more of it: what stands behind the words and the first `after` calls."""

    place: Place
    record: Json
    after: int | None = None  # None: nothing of it was told before
    is_open: bool = False  # may it still be written again, with what it lacks?


@dataclass(frozen=True, slots=True)
class Live:
    """A live message, and the records that tell it, in order; none tells a reply that says nothing."""

    id: str
    record: Json  # that says most of it
    tellings: tuple[Telling, ...]
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
    told = {telling.place for live in chosen for telling in live.tellings}
    silent = {state.live[live.id] for live in chosen if not live.tellings}
    dead = {place: NOTHING if place in silent else _why(state, place) for place in state.records if place not in told}
    off_branch = {native_id: why for native_id, why in state.gone.items() if native_id not in state.live}
    return Log(chosen, dead, off_branch, state.metadata)


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
    """The records that tell a live message (laws 2, 3 and 5)."""
    newest = state.records[state.live[native_id]]
    whole = essence_of(newest)
    tellings: list[Telling] = []
    count = 0  # of the calls that are told
    for run, places in state.runs[native_id].items():
        is_running = run == state.run and state.speaker == native_id
        saying = [(place, said) for place in places if (said := _said(state.records[place], newest, whole)) is not None]
        for at, (place, said) in enumerate(saying, 1):
            is_more = len(said.calls) > count or (said.is_said and not tellings)
            if is_more and (said.is_answered or at == len(saying)):
                is_open = is_running and not said.is_answered
                tellings.append(Telling(place, state.records[place], count if tellings else None, is_open))
                count = len(said.calls)
        if tellings and count == len(whole.calls):
            break
    is_compacted = any(told.place in state.summaries or is_summary(told.record) for told in tellings[:1])
    return Live(native_id, tellings[-1].record if tellings else newest, tuple(tellings), is_compacted)


def _said(record: Json, newest: Json, whole: Essence) -> Essence | None:
    """What a record says of what the newest of its id says, None for something else."""
    if is_context(newest) and is_context(record):
        return whole
    said = essence_of(record)
    return said if whole.goes_on_from(said) else None


def _why(state: _Fold, place: Place) -> str:
    record = state.records[place]
    if record["id"] not in state.live:
        return state.dead.get(place, state.gone.get(record["id"], SUPERSEDED))
    return CONTEXT_AGAIN if is_context(record) else SUPERSEDED
