"""Page: 500 messages of 1 KB read in this process and over HTTP, against executing the query alone, rows not touched."""

import itertools
from dataclasses import dataclass, field

from bench import http, limits
from bench.fill import MESSAGES, fill, session_ids
from bench.report import Row, Target
from bench.rounds import Measure, Plan, alternate, rate
from bench.stage import Floor, Hub, Stage
from bench.store import Store, open_store
from eventstore.lineage import SEQ_MAX
from eventstore.read import PAGE_BYTES_MAX, SessionRef

EVENTS = 10_000
SESSIONS = 16
_SELECT = (
    f"select seq, body from store.log where session_no = %s and seq > 0 and kind = 'message.appended' order by seq limit {MESSAGES}"
)


async def measure(stage: Stage, plan: Plan) -> list[Row]:
    """Return how many pages a second one reader gets, by every way there is."""
    dsn = stage.database("page")
    fill(dsn, EVENTS)
    hub, floor = stage.hub(dsn), stage.floor()
    async with open_store(dsn) as store, limits.connections(dsn, 1) as (plain,):
        by = Readers(
            store, await find(store, EVENTS), plain, hub, floor, (await http.connect(hub))[0], (await http.connect(floor))[0]
        )
        own = stage.meter()
        measures: dict[str, Measure] = {
            "select": lambda s: rate(s, 1, by.by_select, own),
            "query": lambda s: rate(s, 1, by.by_query_alone, own),
            "reader": lambda s: rate(s, 1, by.by_reader, own),
            "floor": lambda s: rate(s, 1, by.by_floor, stage.meter(floor)),
            "http": lambda s: rate(s, 1, by.by_http, stage.meter(hub)),
        }
        got = await alternate(plan, 0.5, measures)
        http.close([by.get, by.bare])
    floor.stop()
    hub.stop()
    page, over_http = f"page of {MESSAGES} x 1 KB, reader", f"page of {MESSAGES} x 1 KB, GET"
    query, select, bare = "its query alone, rows not touched", "a plain SELECT, rows not touched", "bare protocol, bytes prebuilt"
    return [
        Row("page", page, "/s", got["reader"], query, got["query"], Target("at least", 0.5)),
        Row("page", page, "/s", got["reader"], select, got["select"]),
        Row("page", over_http, "/s", got["http"], query, got["query"], Target("at least", 0.5)),
        Row("page", over_http, "/s", got["http"], bare, got["floor"]),
    ]


async def find(store: Store, events: int) -> list[SessionRef]:
    """Return sessions spread over a log that was filled, each with a whole page."""
    return [await store.reader.find(session_id) for session_id in session_ids(events, SESSIONS)]


async def read(store: Store, ref: SessionRef) -> int:
    """Read a page and join it to the body of an answer, as the hub does."""
    page = await store.reader.messages(ref, 0, MESSAGES)
    body = b",".join(page.items)
    assert len(page.seqs) == MESSAGES, len(page.seqs)
    assert len(body) > MESSAGES * 900, len(body)
    return 1


@dataclass(frozen=True)
class Readers:
    """One reader that takes the sessions in turn. Each way returns 1, the page it read."""

    store: Store
    refs: list[SessionRef]
    plain: limits.Connection
    hub: Hub
    floor: Floor
    get: http.Connection
    bare: http.Connection
    turn: "itertools.count[int]" = field(default_factory=itertools.count)

    def next_ref(self) -> SessionRef:
        return self.refs[next(self.turn) % len(self.refs)]

    async def by_select(self, _: int) -> int:
        """A plain SELECT of the same rows, on a connection of its own, in binary."""
        async with self.plain.cursor(binary=True) as cursor:
            await cursor.execute(_SELECT, [self.next_ref().session_no], prepare=False)
        return 1

    async def by_query_alone(self, _: int) -> int:
        """The reader's own query."""
        ref = self.next_ref()
        rows = await self.store.database.call_raw(
            "read_page",
            session_no=ref.session_no,
            part_nos=[ref.session_no],
            part_afters=[0],
            part_tos=[SEQ_MAX],
            max_count=MESSAGES,
            max_bytes=PAGE_BYTES_MAX,
            with_native=False,
        )
        assert rows.count == MESSAGES, rows.count
        return 1

    async def by_reader(self, _: int) -> int:
        """The reader, to the joined body."""
        return await read(self.store, self.next_ref())

    async def by_http(self, _: int) -> int:
        """A GET from the hub."""
        path = f"/v1/sessions/{self.next_ref().session_id}?after_seq=0&limit={MESSAGES}"
        body = await self.get.ask(http.get(self.hub, path))
        assert len(body) > MESSAGES * 900, len(body)
        return 1

    async def by_floor(self, _: int) -> int:
        """A GET from a bare protocol."""
        await self.bare.ask(http.get(self.floor, "/page"))
        return 1
