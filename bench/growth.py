"""Growth: the same figures on a log of a million events and on one of ten thousand, in alternation."""

import functools
import itertools
from contextlib import AsyncExitStack

import anyio.to_thread

from bench.append import WRITERS
from bench.fill import MESSAGES, fill, session_ids
from bench.page import find, read
from bench.report import Row, Target
from bench.rounds import Measure, Plan, alternate, rate
from bench.stage import Stage
from bench.store import Store, open_store
from bench.tail import Reader, shuffled_p50

SMALL, LARGE, LARGE_QUICK = 10_000, 1_000_000, 50_000
GROWS_AT_MOST = 1.3


async def measure(stage: Stage, plan: Plan) -> list[Row]:
    """Return appends, pages and tails on both logs."""
    large = LARGE_QUICK if plan.is_quick else LARGE
    dsns = {size: stage.database(f"growth_{size}") for size in (SMALL, large)}
    for size, dsn in dsns.items():
        await anyio.to_thread.run_sync(fill, dsn, size)
    async with AsyncExitStack() as exits:
        stores = {size: await exits.enter_async_context(open_store(dsn)) for size, dsn in dsns.items()}
        rows = await _rates(stage, plan, stores)
    hubs = {size: stage.hub(dsn) for size, dsn in dsns.items()}
    tails = await shuffled_p50(plan, {size: (await Reader.open(hub, hub)).by_poll_s for size, hub in hubs.items()})
    for hub in hubs.values():
        hub.stop()
    figure = f"POST to long-poll, p50, {large:,} events"
    return [*rows, Row("growth", figure, "ms", tails[large], _at(SMALL), tails[SMALL], Target("at most", GROWS_AT_MOST))]


async def _rates(stage: Stage, plan: Plan, stores: dict[int, Store]) -> list[Row]:
    small, large = stores
    appends: dict[str, Measure] = {}
    pages: dict[str, Measure] = {}
    for size, store in stores.items():
        appends[str(size)] = _appending(stage, store, await store.new_sessions(WRITERS))
        pages[str(size)] = _paging(stage, store, [ref.session_id for ref in await find(store, size)])
    pages["cold"] = _paging(stage, stores[large], session_ids(large, large // 1000))
    appended, paged = await alternate(plan, 1.0, appends), await alternate(plan, 0.6, pages)
    target = Target("at least", round(1 / GROWS_AT_MOST, 2))
    append, page = f"{WRITERS} writers, committer, {large:,} events", f"page of {MESSAGES} x 1 KB, reader, {large:,} events"
    cold = f"page of {MESSAGES} x 1 KB, any session, {large:,} events"
    return [
        Row("growth", append, "/s", appended[str(large)], _at(small), appended[str(small)], target),
        Row("growth", page, "/s", paged[str(large)], _at(small), paged[str(small)], target),
        Row("growth", cold, "/s", paged["cold"], _at(small), paged[str(small)]),
    ]


def _appending(stage: Stage, store: Store, sessions: list[str]) -> Measure:
    return lambda s: rate(s, WRITERS, lambda writer: store.append(sessions[writer]), stage.meter())


def _paging(stage: Stage, store: Store, sessions: list[str]) -> Measure:
    """Pages of sessions in turn: of a few again and again, or of so many that each one was not read for long."""
    turn = itertools.cycle(sessions)

    async def one(_: int) -> int:
        return await read(store, await store.reader.find(next(turn)))

    return functools.partial(rate, workers=1, one=one, meter=stage.meter())


def _at(size: int) -> str:
    return f"the same at {size:,} events"
