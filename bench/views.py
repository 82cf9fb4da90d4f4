"""Views: how fast they are rebuilt against a plain scan of the same rows, what that costs appends meanwhile, and what a page of
a deep fork costs against one of a session that was never forked."""

import functools
import time

import anyio
import psycopg

from bench.append import WRITERS
from bench.fill import fill
from bench.report import Row, Sample, Target
from bench.rounds import Plan, alternate, middle_ms, rate
from bench.stage import Stage
from bench.store import Store, open_store
from eventstore.errors import RebuildRunning
from eventstore.read import SessionRef
from projections.rebuild import Progress, rebuild
from projections.registry import states

EVENTS, EVENTS_QUICK = 1_000_000, 100_000
DEPTH, MESSAGES = 200, 20_000
PAGE = 100
RATE, SHARE_OF_SCAN = 100_000, 0.2
_SCAN = "select count(*) from store.log where octet_length(body) > 0"


async def measure(stage: Stage, plan: Plan) -> list[Row]:
    """Return rebuilding, appends meanwhile, and pages of a deep fork."""
    events = EVENTS_QUICK if plan.is_quick else EVENTS
    dsn = stage.database("views")
    await anyio.to_thread.run_sync(fill, dsn, events)
    async with open_store(dsn) as store:
        rebuilding = await _rebuilding(plan, store, dsn, events)
        appends = await _appends_meanwhile(stage, plan, store)
        forks = await _forks(stage, plan, store)
    return [*rebuilding, appends, *forks]


async def _rebuilding(plan: Plan, store: Store, dsn: str, events: int) -> list[Row]:
    names = [state.name for state in await states(store.database)]
    rebuilt: list[Sample] = []
    scanned: list[Sample] = []
    for _ in range(min(plan.rounds, 3)):
        began = time.perf_counter()
        await anyio.to_thread.run_sync(_scan, dsn)
        scanned.append(Sample(events / (time.perf_counter() - began)))
        began = time.perf_counter()
        for name in names:
            await rebuild(store.database, name, _tell)
        rebuilt.append(Sample(events / (time.perf_counter() - began)))
    figure = f"all views rebuilt, {events:,} events of 1 KB"
    limits = [Sample(min(RATE, SHARE_OF_SCAN * sample.value)) for sample in scanned]
    limit = f"{RATE:,}, or {SHARE_OF_SCAN} of a plain scan of the rows, if less"
    return [Row("views", figure, "events/s", rebuilt, limit, limits, Target("at least", 1))]


async def _appends_meanwhile(stage: Stage, plan: Plan, store: Store) -> Row:
    sessions = await store.new_sessions(WRITERS)

    async def alone(duration_s: float) -> Sample:
        return await rate(duration_s, WRITERS, lambda writer: store.append(sessions[writer]), stage.meter())

    async def meanwhile(duration_s: float) -> Sample:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_rebuild_again_and_again, store)
            sample = await alone(duration_s)
            tasks.cancel_scope.cancel()
        return sample

    found = await alternate(plan, 2.0, {"alone": alone, "meanwhile": meanwhile})
    target = Target("at least", round(1 / 1.5, 2))
    return Row(
        "views", f"{WRITERS} writers during a rebuild", "/s", found["meanwhile"], "the same without one", found["alone"], target
    )


async def _rebuild_again_and_again(store: Store) -> None:
    while True:
        try:
            await rebuild(store.database, "sessions", _tell)
        except RebuildRunning:  # the last round's, which was cancelled: its backend has not noticed yet
            await anyio.sleep(0.01)


async def _forks(stage: Stage, plan: Plan, store: Store) -> list[Row]:
    (plain,) = await store.new_sessions(1)
    for _ in range(MESSAGES // 500):
        await store.append(plain, 500)
    deep = await _deep_fork(store, MESSAGES)
    rows = []
    for name, back in (("first", MESSAGES), ("tail", PAGE)):
        refs = {"fork": deep, "plain": await store.reader.find(plain)}
        after = {key: await _after(store, ref, back) for key, ref in refs.items()}
        measures = {
            key: functools.partial(
                middle_ms, one=functools.partial(store.reader.messages, ref, after[key], PAGE), meter=stage.meter()
            )
            for key, ref in refs.items()
        }
        found = await alternate(plan, 0.6, measures)
        figure = f"{name} page of {PAGE}, fork at depth {DEPTH}, {MESSAGES:,} messages"
        rows.append(Row("views", figure, "ms", found["fork"], "the same, never forked", found["plain"], Target("at most", 3)))
    return rows


async def _after(store: Store, ref: SessionRef, back: int) -> int:
    """The seq after which the last `back` messages of a session lie."""
    if back >= MESSAGES:
        return 0
    page = await store.reader.messages(ref, 0, 1)
    after, seqs = 0, list[int]()
    while after < page.head_seq:
        page = await store.reader.messages(ref, after, 1000)
        seqs += page.seqs
        after = seqs[-1]
    return seqs[-back - 1]


async def _deep_fork(store: Store, messages: int) -> SessionRef:
    """A fork of a fork …, each with its share of the messages, made by events as the hub makes them."""
    (session_id,) = await store.new_sessions(1)
    share = messages // (DEPTH + 1)
    lineage: list[tuple[int, int]] = []
    for _ in range(DEPTH):
        await store.append(session_id, share)
        ref = await store.reader.find(session_id)
        head = (await store.reader.session_row(session_id))["head_seq"]
        lineage.append((ref.session_no, head))
        facts = {
            "project_id": "bench",
            "parent_no": ref.session_no,
            "snapshot_seq": head,
            "up_to_seq": head,
            "head_seq": head,
            "lineage_nos": [no for no, _ in lineage],
            "lineage_tos": [to for _, to in lineage],
        }
        session_id = await store.fork(session_id, facts)
    await store.append(session_id, messages - share * DEPTH)
    return await store.reader.find(session_id)


def _scan(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("set max_parallel_workers_per_gather = 0")
        connection.execute(_SCAN).fetchone()


async def _tell(progress: Progress) -> None:
    """Nobody listens."""
