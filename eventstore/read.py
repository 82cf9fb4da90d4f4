"""Read: pages of a session over its lineage, and of the whole log. Stored bytes are joined, never decoded.

A session's lineage never changes, so each process remembers it; what changes (head, deletion) comes with every page.
Reads take turns at the pool, so that thousands who come at once wait in line instead of being refused for waiting.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from eventstore.append import NewEvent
from eventstore.db import Database, Rows
from eventstore.errors import SessionDeleted, SessionNotFound
from eventstore.lineage import SEQ_MAX, Part, parts_after
from eventstore.sharing import SingleFlight, Turns
from eventstore.upcast import lifted
from eventstore.wire.codec import quote
from eventstore.wire.event import served_payload, sse_event
from eventstore.wire.message import served_message, with_native

PAGE_COUNT_MAX = 1000
PAGE_BYTES_MAX = 4 * 1024 * 1024
_REMEMBERED_MAX = 20_000
_AT_HEAD = "_at_head"  # the functions for few rows


@dataclass(frozen=True, slots=True)
class SessionRef:
    """What never changes of a session, and the agent its messages come from where they do not say."""

    session_no: int
    session_id: str
    project_id: str
    lineage: tuple[Part, ...]  # ancestors that it reads, eldest first, without itself
    agent_source: str | None


@dataclass(slots=True)
class Page:
    """Items in seq order. `head_seq`: of the last item that there is: message or event of the session, or event of the log."""

    seqs: list[int]
    items: list[bytes]
    head_seq: int
    encoded: dict[Any, bytes] = field(default_factory=dict)  # answers made of it, for those who share it

    def after(self, after_seq: int, max_count: int) -> "Page":
        """The part of this page that a reader at `after_seq` has not seen."""
        if self.seqs and self.seqs[0] > after_seq and len(self.seqs) <= max_count:
            return self
        start = next((i for i, seq in enumerate(self.seqs) if seq > after_seq), len(self.seqs))
        return Page(self.seqs[start : start + max_count], self.items[start : start + max_count], self.head_seq)


class Reader:
    """Reads for one server process, at most as many at once as the database has connections for."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turns = Turns(database.reads_max)
        self._rows: SingleFlight[dict[str, Any]] = SingleFlight()
        self._remembered: OrderedDict[str, SessionRef] = OrderedDict()
        self._ids: dict[int, str] = {}
        self._stale: set[int] = set()  # to be read anew before they are used; their numbers stay what they are
        self._heads: dict[int, int] = {}  # where a session's head was last seen; it may have moved since

    async def find(self, session_id: str) -> SessionRef:
        """Return what never changes of a session, deleted or not. Raises SessionNotFound."""
        known = self._remembered.get(session_id)
        if known and known.session_no not in self._stale:
            self._remembered.move_to_end(session_id)
            return known
        return self._remember_row(session_id, await self.session_row(session_id))

    async def find_open(self, session_id: str) -> SessionRef:
        """As `find`, after a look at whether it is deleted now. Raises SessionDeleted too."""
        row = await self.session_row(session_id)
        if row["deleted_seq"] is not None:
            raise SessionDeleted(session_id=session_id)
        known = self._remembered.get(session_id)
        return known if known and known.session_no not in self._stale else self._remember_row(session_id, row)

    def recall(self, session_id: str) -> SessionRef | None:
        """Return what this process remembers of a session, without asking the database. What was forgotten meanwhile is there
        too: an append under way knows by it whom to wake."""
        return self._remembered.get(session_id)

    def remember(self, ref: SessionRef) -> SessionRef:
        """Keep a session's facts at hand, and let go of the ones longest unused."""
        self._remembered[ref.session_id] = ref
        self._ids[ref.session_no] = ref.session_id
        self._stale.discard(ref.session_no)
        if len(self._remembered) > _REMEMBERED_MAX:
            _, oldest = self._remembered.popitem(last=False)
            self._ids.pop(oldest.session_no, None)
            self._stale.discard(oldest.session_no)
        return ref

    def forget(self, session_nos: set[int] | None) -> None:
        """Forget some sessions' facts, since their meta was changed, or all: another history has come."""
        self._stale.update(self._ids if session_nos is None else session_nos & self._ids.keys())

    async def session_row(self, session_id: str) -> dict[str, Any]:
        """Return a session's row by column name, to be looked at only: others who ask now have the same. Raises SessionNotFound."""
        return await self._rows.share(session_id, lambda: self._session_row(session_id))

    async def _session_row(self, session_id: str) -> dict[str, Any]:
        is_possible = session_id.isascii() and "\0" not in session_id  # a text column would refuse others
        rows = await self._call("find_session", session_id=session_id) if is_possible else []
        if not rows:
            raise SessionNotFound(f"There is no session {session_id[:80]!a}.", session_id=session_id[:80])
        return dict(zip(SESSION_COLUMNS, rows[0], strict=True))

    async def head_at(self, session_no: int, up_to_seq: int) -> int | None:
        """Return the seq of a session's last own message up to a seq, None for none."""
        head: int | None = (await self._call("head_at", session_no=session_no, up_to_seq=up_to_seq))[0][0]
        return head

    async def messages(self, ref: SessionRef, after_seq: int, max_count: int, with_natives: bool = False) -> Page:
        """Return the session's messages with seq > `after_seq`, as served. Raises SessionDeleted, SessionNotFound."""
        parts = parts_after(ref.lineage, ref.session_no, ref.session_id, after_seq)
        return await self.parts_page(ref, parts, after_seq, max_count, with_natives)

    async def parts_page(
        self, ref: SessionRef, parts: list[Part], after_seq: int, max_count: int, with_natives: bool = False
    ) -> Page:
        """Return the messages with seq > `after_seq` of some parts that a session reads. Raises as `messages`."""
        rows = await self._call_raw(
            self._cheapest("read_page", ref, after_seq),
            **_page_arguments(ref, parts, after_seq),
            max_count=max_count,
            max_bytes=PAGE_BYTES_MAX,
            with_native=with_natives,
        )
        page, count = self._begin(rows, ref)
        int_, bytes_ = rows.int, rows.bytes
        for row in range(count):
            seq = int_(row, 3) or 0
            stored = _current(bytes_(row, 4), int_(row, 6))
            item = served_message(parts[(int_(row, 2) or 1) - 1].session_id, seq, stored)
            page.seqs.append(seq)
            page.items.append(with_native(item, bytes_(row, 5)) if with_natives else item)
        return _in_order(page)

    async def events(self, ref: SessionRef, after_seq: int, max_count: int, is_following: bool = False) -> Page:
        """Return the session's events of every kind with seq > `after_seq`, each as a server-sent event.

        Of ancestors what is inherited: messages and native records. Raises SessionNotFound and, unless the reader was
        there before (`is_following`) and is to see the deletion itself, SessionDeleted.
        """
        parts = parts_after(ref.lineage, ref.session_no, ref.session_id, after_seq)
        rows = await self._call_raw(
            self._cheapest("read_events", ref, after_seq),
            **_page_arguments(ref, parts, after_seq),
            max_count=max_count,
            max_bytes=PAGE_BYTES_MAX,
        )
        page, count = self._begin(rows, ref, is_deleted_fine=is_following)
        for row in range(count):
            seq, kind = rows.int(row, 3) or 0, (rows.bytes(row, 4) or b"").decode()
            page.seqs.append(seq)
            stored = _current(rows.bytes(row, 6), rows.int(row, 8))
            payload = served_payload(kind, parts[(rows.int(row, 2) or 1) - 1].session_id, seq, stored)
            page.items.append(sse_event(kind, seq, payload))
        return _in_order(page)

    async def log(self, after_seq: int, max_count: int) -> Page:
        """Return the whole log's events with seq > `after_seq`, each as the JSON object that `/v1/log` gives."""
        rows = await self._call("read_log", after_seq=after_seq, max_count=max_count, max_bytes=PAGE_BYTES_MAX)
        page = Page([], [], rows[0][0])
        for _, seq, session_id, kind, append_id, body, created_at, old_version in rows:
            if seq is not None:
                page.seqs.append(seq)
                page.items.append(log_event(seq, session_id, kind, append_id, _current(body, old_version), created_at))
        return _in_order(page)

    async def _call(self, function: str, **arguments: Any) -> list[tuple[Any, ...]]:
        async with self._turns.turn():
            return await self._database.call(function, **arguments)

    async def _call_raw(self, function: str, **arguments: Any) -> Rows:
        if function.endswith(_AT_HEAD) and self._database.can_call_short:
            return await self._database.call_short(function, **arguments)
        async with self._turns.turn():
            return await self._database.call_raw(function, **arguments)

    def _remember_row(self, session_id: str, row: dict[str, Any]) -> SessionRef:
        parts = zip(row["lineage_nos"], row["lineage_tos"], row["lineage_ids"], strict=True)
        lineage = tuple(Part(no, to, name) for no, to, name in parts)
        return self.remember(SessionRef(row["session_no"], session_id, row["project_id"], lineage, row["agent_source"]))

    def _cheapest(self, function: str, ref: SessionRef, after_seq: int) -> str:
        """The function to call: of two that give the same, the one for few rows where the reader stands at the head last seen."""
        return function + _AT_HEAD if after_seq >= self._heads.get(ref.session_no, SEQ_MAX) else function

    def _begin(self, rows: Rows, ref: SessionRef, is_deleted_fine: bool = False) -> tuple[Page, int]:
        """The empty page and how many rows it gets."""
        if rows.count == 0:
            raise SessionNotFound(f"There is no session {ref.session_id}.", session_id=ref.session_id)
        if rows.int(0, 1) is not None and not is_deleted_fine:
            raise SessionDeleted(session_id=ref.session_id)
        head_seq = rows.int(0, 0) or 0
        self._heads[ref.session_no] = head_seq
        if len(self._heads) > _REMEMBERED_MAX:
            del self._heads[next(iter(self._heads))]
        return Page([], [], head_seq), 0 if rows.int(0, 3) is None else rows.count


SESSION_COLUMNS = (
    "session_no", "project_id", "agent_source", "meta", "meta_seq", "head_seq", "last_seq", "message_count", "system_count",
    "user_count", "assistant_count", "tool_count", "snapshot_count", "fork_count", "input_tokens", "output_tokens", "tools",
    "models", "first_message_at", "last_message_at", "created_at", "updated_at", "deleted_seq", "parent_no", "snapshot_seq",
    "up_to_seq", "lineage_nos", "lineage_tos", "lineage_ids",
)  # fmt: skip


def page_of(ref: SessionRef, mode: str, written: list[tuple[int, NewEvent]]) -> Page:
    """Return the page that messages of a session make which were just written, as a read in this mode would give it."""
    page = Page([], [], written[-1][0])
    for seq, event in written:
        stored = event.body.text.encode() if event.body else b"{}"
        item = served_message(ref.session_id, seq, _current(stored, None if event.version == 1 else event.version))
        if mode == "events":
            item = sse_event(event.kind, seq, item)
        elif mode == "natives":
            item = with_native(item, event.native.text.encode() if event.native else None)
        page.seqs.append(seq)
        page.items.append(item)
    return page


def _page_arguments(ref: SessionRef, parts: list[Part], after_seq: int) -> dict[str, Any]:
    return {
        "session_no": ref.session_no,
        "part_nos": [part.session_no for part in parts],
        "part_afters": [after_seq for _ in parts],
        "part_tos": [part.to_seq for part in parts],
    }


def _in_order(page: Page) -> Page:
    """The page, which the functions give in seq order by walking indexes: a sort there would copy every row."""
    assert all(a < b for a, b in pairwise(page.seqs)), "a page came out of order"
    return page


def _current(stored: bytes | None, old_version: int | None) -> bytes:
    """A stored payload as today's schema has it; almost all are."""
    return (stored or b"{}") if old_version is None else lifted(stored or b"{}", old_version)


def log_event(seq: int, session_id: str | None, kind: str, append_id: str, body: bytes, created_at: Any) -> bytes:
    """Return one event of the log as JSON."""
    head = (
        f'{{"seq":{seq},"session_id":{quote(session_id) if session_id else "null"},"kind":"{kind}",'
        f'"append_id":{quote(append_id)},"created_at":"{created_at.isoformat().replace("+00:00", "Z")}","payload":'
    )
    return head.encode() + served_payload(kind, session_id or "", seq, body) + b"}"
