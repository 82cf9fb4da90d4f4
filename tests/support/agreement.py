"""What writers were told, what readers saw and what stands in the log: faults are where these differ."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import psycopg
from load import Ledger
from readers import PageReader, Reader, Seen, label

SHOWN = 3


class Event(NamedTuple):
    """An event, as `events`, the view for people, has it."""

    seq: int
    session_id: str | None
    kind: str
    append_id: str


def read_log(dsn: str) -> list[Event]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("select seq, session_id, kind, append_id from events order by seq").fetchall()
    return [Event(*row) for row in rows]


def faults(log: list[Event], ledger: Ledger, readers: Iterable[Reader] = ()) -> list[str]:
    """Every way in which the log is not dense, an append not there once, a reader not told all, once, in order."""
    found = log_faults(log) + ledger_faults(log, ledger)
    for reader in readers:
        found += [f"{reader.name}: {fault}" for fault in reader_faults(reader.seen, expected(log, reader))]
    return found


def log_faults(log: list[Event]) -> list[str]:
    holes = sorted(set(range(1, len(log) + 1)) - {event.seq for event in log})
    return [f"hole: {_some(holes)}"] if holes else []


def ledger_faults(log: list[Event], ledger: Ledger) -> list[str]:
    messages = [event for event in log if event.kind == "message.appended"]
    places = {event.append_id: event.seq for event in messages}
    lost = [f"{name} at {seq}" for name, seq in ledger.seqs.items() if places.get(name) != seq]
    twice = [name for name, count in Counter(event.append_id for event in messages).items() if count > 1]
    return ([f"lost: {_some(lost)}"] if lost else []) + ([f"written twice: {_some(twice)}"] if twice else [])


def expected(log: list[Event], reader: Reader) -> Seen:
    """What a reader must have seen: the log, or of its session the messages, and as a stream all that happened to it."""
    own = [event for event in log if reader.session_id in (None, event.session_id)]
    if reader.session_id and isinstance(reader, PageReader):
        own = [event for event in own if event.kind == "message.appended"]
    return [(event.seq, label(event.kind, event.append_id)) for event in own]


def reader_faults(seen: Seen, wanted: Seen) -> list[str]:
    counts = Counter(seen)
    missing = [event for event in wanted if event not in counts]
    twice = [event for event, count in counts.items() if count > 1]
    strange = sorted(counts.keys() - set(wanted))
    disorder = [(one, two) for (one, _), (two, _) in pairwise(seen) if two <= one]
    kinds: dict[str, list[Any]] = {"missing": missing, "seen twice": twice, "not of the log": strange, "out of order": disorder}
    return [f"{len(events)} {kind}: {_some(events)}" for kind, events in kinds.items() if events]


def _some(items: list[Any]) -> str:
    return ", ".join(map(str, items[:SHOWN])) + (" …" if len(items) > SHOWN else "")
