"""Where an agent's session came from: which session of the hub was written for the agent, who went on with it.

Asked only for sessions that hold records as our writers make them. What was found once is noted in the hub's session
(`pushed.by`), so it is looked for among a project's sessions only once.
"""

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from adapters.continued import goes_home_as, is_made, looks_written, names_in, record_names
from adapters.conversion import Json
from cli import push_marks
from cli.client import Hub, session_path
from cli.stores import Loaded

PAGE_MAX = 1000
FIRST_MESSAGES = 32
_beginnings: WeakKeyDictionary[Hub, dict[str, list[Json]]] = WeakKeyDictionary()


def find_origin(hub: Hub, loaded: Loaded, project_id: str) -> str:
    """Return the hub's id of the session that an agent's session was written from; "" where there is none, or it is its own."""
    if not looks_written(loaded.conversion, loaded.native_id):
        return ""
    listed = list(_sessions(hub, project_id))
    for one in listed:
        if _names_it(one["meta"], push_marks.name_of(loaded)):
            return str(one["session_id"])
    if any(_is_own(one, loaded) for one in listed):
        return ""
    has = names_in(loaded.conversion)
    best, shared_most = "", 0
    for one in reversed(listed):  # the oldest first: of a session and its fork, which begin alike, the one that has more
        session_id = str(one["session_id"])
        if one["meta"].get("agent_source") == loaded.conversion.agent and not _goes_home(hub, one, loaded):
            continue  # the agent's own goes home under its own id, where it has one that the agent takes
        begin = _beginning(hub, session_id)
        if not has.intersection(_names(loaded, one["meta"], begin)):
            continue
        shared = len(has.intersection(_names(loaded, one["meta"], messages_of(hub, session_id))))
        if shared > shared_most:
            best, shared_most = session_id, shared
    return best


def _beginning(hub: Hub, session_id: str) -> list[Json]:
    """The first messages of a session; asked for once, since they stay when they are so many."""
    known = _beginnings.setdefault(hub, {})
    if session_id not in known:
        begin = messages_of(hub, session_id, FIRST_MESSAGES)
        if len(begin) < FIRST_MESSAGES:
            return begin
        known[session_id] = begin
    return known[session_id]


def messages_of(hub: Hub, session_id: str, count_max: int = 0) -> list[Json]:
    """Return the messages of a session, inherited ones too, with what their agents need of them; `count_max` 0: all."""
    found: list[Json] = []
    after_seq, has_more = 0, True
    while has_more and (not count_max or len(found) < count_max):
        limit = min(PAGE_MAX, count_max - len(found)) if count_max else PAGE_MAX
        page = hub.get(session_path(session_id), after_seq=after_seq, limit=limit, native=1).document.fields
        found += (message for message in page["messages"] if "role" in message)
        after_seq, has_more = page["next_after_seq"].text, page["has_more"]
    return found


def _sessions(hub: Hub, project_id: str) -> Iterator[Json]:
    cursor: str | None = None
    while True:
        page = hub.get("/v1/sessions", project_id=project_id, limit=PAGE_MAX, cursor=cursor).document.fields
        yield from (one for one in page["sessions"] if isinstance(one.get("meta"), dict))
        cursor = page["next"]
        if cursor is None:
            return


def _names(loaded: Loaded, meta: Json, messages: list[Json]) -> list[str]:
    return record_names(loaded.conversion.agent, loaded.native_id, meta, messages)


def _goes_home(hub: Hub, one: Json, loaded: Loaded) -> bool:
    """Is it what a session of the agent's own went home as, under an id made of its own?"""
    if not is_made(loaded.native_id):
        return False
    begin = _beginning(hub, str(one["session_id"]))
    return goes_home_as(loaded.conversion.agent, one["meta"], begin) == loaded.native_id


def _names_it(meta: Json, name: str) -> bool:
    """Was the agent's session pushed to this one, or to a fork of it, before?"""
    by = push_marks.pushed_in(meta).get("by")
    return bool(push_marks.newest_of(meta, name)) or (isinstance(by, dict) and name in by)


def _is_own(one: Json, loaded: Loaded) -> bool:
    """Was the hub's session made from the agent's?"""
    meta = one["meta"]
    told = (meta.get("agent_source"), meta.get("native_session_id"))
    return told == (loaded.conversion.agent, loaded.native_id) and not one.get("parent_session_id")
