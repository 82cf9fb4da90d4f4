"""The way home: the document that a session's native records and messages make together, as OpenCode had it.

1. Of a message's record, and of what may still change in it, the newest counts.
2. The newest `{document, order}` tells of the session and which messages it had, in which order; what came later follows.
3. A message that was there before and is not in that order was removed by OpenCode itself (a revert that was gone on from).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.conversion import Json
from adapters.home import BROKEN
from adapters.opencode.records import AGENT, from_kept, put
from adapters.said import lay
from adapters.session import Session, is_message, native_of


@dataclass(slots=True)
class Home:
    """What went home. Indexes are those of the session's entries."""

    document: Json = field(default_factory=dict)  # all but the messages
    keys: list[str] = field(default_factory=list)  # in order
    records: dict[str, Any] = field(default_factory=dict)
    at_home: set[int] = field(default_factory=set)  # entries that are in the records
    removed: dict[int, str] = field(default_factory=dict)  # entries of messages that OpenCode removed, by key
    broken: set[int] = field(default_factory=set)  # native records that cannot be read

    @property
    def messages(self) -> list[Any]:
        return [self.records[key] for key in self.keys]


@dataclass(slots=True)
class _Group:
    """A record's first message, and the others that say some of it."""

    head: Json
    indexes: list[int]
    others: list[Json] = field(default_factory=list)


def go_home(session: Session) -> Home:
    """Return what of a session is OpenCode's own."""
    home = Home()
    later: dict[str, list[Any]] = {}
    arrived: dict[str, int] = {}
    order: list[str] | None = None
    told_at = -1
    for index, entry in enumerate(session.entries):
        if is_message(entry) or entry.get("agent") != AGENT:
            continue
        for record in entry["records"]:
            try:
                match record:
                    case {"document": dict(kept), "order": list(keys)}:
                        home.document, order, told_at = from_kept(kept), [str(key) for key in keys], index
                    case {"key": str(key), "later": list(changes)}:
                        later[key] = changes
                    case {"key": str(key)}:
                        home.records[key] = from_kept(record)
                        arrived[key] = index
                    case _:
                        raise KeyError("an unknown record")
                home.at_home.add(index)
            except BROKEN:
                home.broken.add(index)
    _add_messages(home, session.entries, arrived)
    for key, changes in later.items():
        if key in home.records:
            home.records[key] = _with_later(home.records[key], changes)
    _put_in_order(home, order, arrived, told_at)

    return home


def _add_messages(home: Home, entries: Sequence[Json], arrived: dict[str, int]) -> None:
    for group in _groups(entries):
        key = _key(group.head)
        try:
            record = from_kept(group.head["native"])
            for message in (group.head, *group.others):
                record = lay(record, message, message["native"].get("said", []))
        except BROKEN:
            continue  # what they say is written anew
        if group.indexes[0] >= arrived.get(key, -1) or key not in home.records:
            home.records[key] = record
            arrived[key] = group.indexes[0]
        home.at_home.update(group.indexes)


def _groups(entries: Sequence[Json]) -> list[_Group]:
    groups: list[_Group] = []
    newest: dict[str, _Group] = {}
    for index, entry in enumerate(entries):
        native = native_of(entry, AGENT) if is_message(entry) else None
        if native is None:
            continue
        if "part" not in native:
            groups.append(_Group(entry, [index]))
            newest[str(entry.get("append_id"))] = groups[-1]
        elif group := newest.get(str(native.get("head"))):
            group.indexes.append(index)
            group.others.append(entry)
    return groups


def _with_later(record: Any, changes: Sequence[Any]) -> Any:
    whole = record
    try:
        for path, value in changes:
            whole = put(whole, path, value)
    except BROKEN:
        return record
    return whole


def _put_in_order(home: Home, order: list[str] | None, arrived: dict[str, int], told_at: int) -> None:
    listed = [key for key in order or () if key in home.records]
    known = set(listed)
    rest = sorted((key for key in home.records if key not in known), key=arrived.__getitem__)
    gone = {key for key in rest if order is not None and arrived[key] < told_at}
    home.keys = listed + [key for key in rest if key not in gone]
    for key in gone:
        home.removed[arrived[key]] = key
        del home.records[key]


def _key(entry: Json) -> str:
    return str((entry.get("native") or {}).get("key"))
