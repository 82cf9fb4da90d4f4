"""Push one session: create it under its own name, append what the hub has not, say what became of everything.

1. All ids come from the agent's session, so pushing again adds nothing, and one that has grown adds what is new.
2. What was pushed is marked in the session's meta (`pushed`: how many, and a digest of their ids), written last. As long as the
   mark holds, what it covers is not sent again. It names the log: after a restore everything is offered once more.
3. A message that the hub refuses is left out and counted; its neighbours are sent. Then no mark is set.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec

from adapters.arrival import BATCH_COUNT, batches, changed, creation, digest_of, messages_body, meta_of
from adapters.conversion import Message, NativeRecords
from cli.address import NotAHub
from cli.client import Answer, Hub, session_path
from cli.stores import Loaded
from eventstore.errors import AppendIdReused, InvalidJson, InvalidMessage, StoreError, TooLarge
from eventstore.wire.codec import dump

_HTTP_TOO_LARGE = 413

_REFUSALS = (TooLarge, InvalidMessage, InvalidJson, NotAHub)

Progress = Callable[[int, int], None]


@dataclass
class Pushed:
    """What became of a session. A message or a native line is one item: found = appended + repeated + native + skipped."""

    loaded: Loaded
    session_id: str = ""
    appended: int = 0
    repeated: int = 0
    native: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    redactions: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def found(self) -> int:
        conversion = self.loaded.conversion
        return len(conversion.messages) + sum(len(native.lines) for native in conversion.natives)

    def to_dict(self) -> dict[str, Any]:
        assert self.found == self.appended + self.repeated + self.native + sum(self.skipped.values()), "the sums do not match"
        return {
            "session_id": self.session_id,
            "native_session_id": self.loaded.native_id,
            "agent": self.loaded.conversion.agent,
            "version": self.loaded.conversion.version,
            "path": str(self.loaded.source.path),
            "found": self.found,
            "appended": self.appended,
            "repeated": self.repeated,
            "native": self.native,
            "skipped": sum(self.skipped.values()),
            "skipped_reasons": [{"reason": reason, "count": count} for reason, count in self.skipped.items()],
            "messages": len(self.loaded.conversion.messages),
            "redactions": dict(self.redactions),
            "notes": self.notes,
        }


class Mark(msgspec.Struct, frozen=True):
    """What of a session was pushed to which log: so many messages and closed native batches, each with a digest of their ids, and
    the digest of the meta that was set. A digest of "" covers nothing."""

    log_id: str
    messages: int
    messages_digest: str
    natives: int
    natives_digest: str
    meta_digest: str


def open_session(hub: Hub, loaded: Loaded, project_id: str) -> tuple[str, bool]:
    """Return the hub's id of a session, made if need be, and whether it was there before. The body is the same on every push."""
    body = creation(loaded.conversion.agent, loaded.native_id, loaded.parent_id, project_id)
    answer = hub.post("/v1/sessions", dump(body)).value
    return answer["session_id"], answer["duplicate"]


def push_session(
    hub: Hub, loaded: Loaded, project_id: str, parent: str = "", progress: Progress | None = None, batch_count: int = BATCH_COUNT
) -> Pushed:
    """Push a session. `parent`: the hub's id of the session that started it.

    Raises AppendIdReused (it was changed, not only added to), SessionDeleted, HubUnreachable, Unauthorized, ….
    """
    pushed = Pushed(loaded)
    pushed.session_id, was_there = open_session(hub, loaded, project_id)
    before = _mark_of(hub.get(f"{session_path(pushed.session_id)}/lineage")) if was_there else None
    messages, natives = loaded.conversion.messages, loaded.conversion.natives
    log_id = hub.get("/healthz").value["log_id"]
    mark = Mark(log_id, len(messages), _digest(messages), len(natives[:-1]), _digest(natives[:-1]), "")
    sender = _Sender(hub, pushed, batch_count, progress or (lambda done, total: None))
    sender.send_messages(messages, _covered(before, log_id, messages, pushed))
    is_covered = before and before.log_id == log_id and before.natives_digest == _digest(natives[: before.natives])
    sender.send_natives(natives, before.natives if before and is_covered else 0)
    _set_meta(hub, pushed, before, Mark(log_id, 0, "", 0, "", "") if pushed.skipped else mark, parent)
    return pushed


class _Sender:
    """Sends entries in batches that fit, and counts what became of them."""

    def __init__(self, hub: Hub, pushed: Pushed, batch_count: int, progress: Progress) -> None:
        self._hub, self._pushed, self._batch_count, self._progress = hub, pushed, batch_count, progress
        self._path = session_path(pushed.session_id)
        self._done, self._total = 0, pushed.found

    def send_messages(self, messages: Sequence[Message], known: int) -> None:
        self._pushed.repeated += known
        self._step(known)
        for batch in batches(messages[known:], self._batch_count):
            self._send(batch)

    def send_natives(self, natives: Sequence[NativeRecords], known: int) -> None:
        for index, native in enumerate(natives):
            try:
                if index >= known:
                    self._redacted(self._hub.post(f"{self._path}/native", dump(native.body)))
                self._pushed.native += len(native.lines)
            except AppendIdReused as error:
                raise changed(native.lines[0], error) from None
            except _REFUSALS as error:
                self._skip(_for_what_it_is(error), len(native.lines))
            self._step(len(native.lines))

    def _send(self, batch: list[tuple[Message, str]]) -> None:
        """Send a batch; where the hub refuses one message, all but that; where it is too much at once, in halves."""
        if not batch:
            return
        try:
            answer = self._hub.post(f"{self._path}/messages", messages_body([text for _, text in batch]))
        except AppendIdReused as error:
            raise changed(batch[error.facts.get("index", 0)][0].line, error) from None
        except _REFUSALS as error:
            self._send_in_parts(batch, _for_what_it_is(error))
            return
        repeated = sum(result["duplicate"] for result in answer.value["results"])
        self._pushed.repeated += repeated
        self._pushed.appended += len(batch) - repeated
        self._redacted(answer)
        self._step(len(batch))

    def _send_in_parts(self, batch: list[tuple[Message, str]], error: StoreError) -> None:
        index = error.facts.get("index")
        if isinstance(index, int) or len(batch) == 1:
            at = index if isinstance(index, int) else 0
            self._send(batch[:at])
            self._skip(error, 1)
            self._step(1)
            self._send(batch[at + 1 :])
        else:
            middle = len(batch) // 2
            self._send(batch[:middle])
            self._send(batch[middle:])

    def _skip(self, error: StoreError, count: int) -> None:
        self._pushed.skipped[f"{error.title} [{error.code}]"] += count

    def _redacted(self, answer: Answer) -> None:
        self._pushed.redactions.update(answer.value.get("redactions", {}))

    def _step(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self._total)


def _for_what_it_is(error: StoreError) -> StoreError:
    """A refusal of what was sent; raises what was refused for another reason. A proxy may find it too large before the hub does."""
    if isinstance(error, NotAHub) and error.facts.get("http_status") != _HTTP_TOO_LARGE:
        raise error
    return error


def _covered(before: Mark | None, log_id: str, messages: Sequence[Message], pushed: Pushed) -> int:
    """How many messages the mark covers: those need not be sent again."""
    if before is None or before.log_id != log_id or not before.messages_digest:
        return 0
    if before.messages_digest == _digest(messages[: before.messages]):
        return before.messages
    pushed.notes.append(
        "messages that were pushed before are no longer on the session's live branch, or stand in another order (a rewind, a"
        " compaction); the hub keeps them as they were and has the new ones after them"
    )
    return 0


def _set_meta(hub: Hub, pushed: Pushed, before: Mark | None, mark: Mark, parent: str) -> None:
    """Set what the agent says of the session, and the mark; nothing where both are as they were."""
    conversion = pushed.loaded.conversion
    meta = meta_of(conversion, pushed.loaded.native_id) | ({"parent_session_id": parent} if parent else {})
    mark = msgspec.structs.replace(mark, meta_digest=digest_of(meta))
    if mark == before:
        return
    is_told = before is not None and (before.log_id, before.meta_digest) == (mark.log_id, mark.meta_digest)
    patch = ({} if is_told else meta) | {"pushed": msgspec.to_builtins(mark)}
    hub.patch(session_path(pushed.session_id), dump(patch), f"{conversion.agent}:pushed:{digest_of(patch)}")


def _mark_of(answer: Answer) -> Mark | None:
    meta = answer.document.fields["meta"]
    try:
        return msgspec.json.decode(dump(meta.get("pushed")), type=Mark) if isinstance(meta, dict) else None
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


def _digest(entries: Sequence[Message | NativeRecords]) -> str:
    digest = sha256()
    for entry in entries:
        digest.update(entry.append_id.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:32]
