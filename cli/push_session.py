"""Push one session: find its place in the hub, append what the hub has not, say what became of everything.

1. All ids come from the agent's session, so pushing again adds nothing, and one that has grown adds what is new.
2. A session that was pulled into the agent goes on where it came from (`push_origin`), one that was rewound in a fork.
3. What was pushed is marked (`push_marks`), last of all. What the hub refuses is left out and counted; then no mark is set.
"""

from dataclasses import replace

from adapters.arrival import BATCH_COUNT, digest_of, meta_of
from adapters.continued import looks_written
from adapters.conversion import NativeRecords
from cli.client import Hub, session_path
from cli.push_marks import Mark, mark_of, name_of, patch_of
from cli.push_place import Place, find_place, open_session
from cli.push_send import Progress, Sender
from cli.pushed import Pushed
from cli.stores import Loaded
from eventstore.wire.codec import dump

__all__ = ["Progress", "Pushed", "open_session", "push_session"]


def push_session(
    hub: Hub,
    loaded: Loaded,
    project_id: str,
    parent: str = "",
    progress: Progress | None = None,
    batch_count: int = BATCH_COUNT,
    place: Place | None = None,
) -> Pushed:
    """Push a session. `parent`: the hub's id of the session that started it; `place`: where it goes on, if that is known.

    Raises AppendIdReused (it was changed, not only added to), SessionDeleted, HubUnreachable, Unauthorized, ….
    """
    pushed = Pushed(loaded)
    log_id = hub.get("/healthz").value["log_id"]
    place = place or find_place(hub, loaded, project_id, log_id)
    pushed.session_id, pushed.is_own, pushed.is_settled = place.session_id, place.is_own, place.is_settled
    pushed.head_seq = place.head_seq
    pushed.notes += place.notes
    messages, natives = loaded.conversion.messages, loaded.conversion.natives
    sender = Sender(hub, pushed, progress or (lambda done, total: None), batch_count)
    new = [message for message in messages if message.append_id not in place.known]
    sender.repeat(len(messages) - len(new))
    sender.send_messages(new)
    if looks_written(loaded.conversion, loaded.native_id):
        sender.send_natives(_of_what_is_new(natives, loaded, place, sender), 0)
    else:
        sender.send_natives(natives, place.mark.natives_covered(log_id, natives) if place.mark else 0)
    is_marked = place.is_settled and not pushed.skipped
    _set_meta(hub, pushed, place, log_id, is_marked, parent)
    return pushed


def _of_what_is_new(natives: list[NativeRecords], loaded: Loaded, place: Place, sender: Sender) -> list[NativeRecords]:
    """The native records that stand behind all that the hub has: those before, and the session's own, are made by our writers."""
    last = max((message.line for message in loaded.conversion.messages if message.append_id in place.known), default=0)
    kept: list[NativeRecords] = []
    for native in natives:
        places = [at for at, line in enumerate(native.lines) if line > last]
        sender.repeat(len(native.lines) - len(places))
        if places:
            body = native.body | {"records": [native.body["records"][at] for at in places]}
            append_id = native.append_id
            if len(places) < len(native.lines):
                append_id = f"{loaded.conversion.agent}:native:{digest_of(body['records'])}"
            kept.append(replace(native, body=body | {"append_id": append_id}, lines=tuple(native.lines[at] for at in places)))
    return kept


def _set_meta(hub: Hub, pushed: Pushed, place: Place, log_id: str, is_marked: bool, parent: str) -> None:
    """Set what the agent says of the session, if it is its own, and the mark; nothing where both are as they were."""
    loaded = pushed.loaded
    meta = meta_of(loaded.conversion, loaded.native_id) | ({"parent_session_id": parent} if parent else {}) if place.is_own else {}
    mark = mark_of(loaded, log_id, digest_of(meta), pushed.head_seq)
    if not is_marked:
        mark = Mark(log_id, 0, "", 0, "", mark.meta_digest)
    if mark == place.mark:
        return
    is_told = place.mark is not None and place.mark.meta_digest == mark.meta_digest
    patch = ({} if is_told else meta) | patch_of(mark, name_of(loaded), is_own=place.is_own)
    hub.patch(session_path(pushed.session_id), dump(patch), f"{loaded.conversion.agent}:pushed:{digest_of(patch)}")
