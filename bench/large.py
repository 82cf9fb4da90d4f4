"""Large: what becomes of a small message's latency while messages of 16 MiB are appended beside it."""

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from statistics import median

import anyio

from bench import http, limits
from bench.messages import large_content, message, new_append_id
from bench.report import Row, Sample, percentile
from bench.rounds import Plan
from bench.stage import Stage
from bench.store import large_event, open_store

LARGE_BYTES, LARGE_BYTES_QUICK = 16 * 1024 * 1024 - 4096, 4 * 1024 * 1024  # the first just below what the hub takes
ROUNDS_MAX = 3
ALLOWED_S = 25.0
PAUSE_S = 0.002
FULL_S = 1.0
LONGEST_S = 20.0
Work = Callable[[], Awaitable[object]]


async def measure(stage: Stage, plan: Plan) -> list[Row]:
    """Return a small append's time beside large ones against its time alone, over HTTP and in this process."""
    dsn = stage.database("large")
    hub = stage.hub(dsn)
    size = LARGE_BYTES_QUICK if plan.is_quick else LARGE_BYTES
    content = large_content(size)
    async with AsyncExitStack() as exits:
        store = await exits.enter_async_context(open_store(dsn))
        plain = await exits.enter_async_context(limits.connections(dsn, 1))
        small, big = await http.connect(hub, 2)
        exits.callback(http.close, [small, big])
        small_id, big_id = await store.new_sessions(2)
        event = large_event(big_id, content)

        async def post_large() -> None:
            await big.ask(http.post(hub, f"/v1/sessions/{big_id}/messages", message(new_append_id(), content)))

        async def post_small() -> None:
            await small.ask(http.post(hub, f"/v1/sessions/{small_id}/messages", message(new_append_id())))

        posted, committed = (
            Pair(post_small, post_large),
            Pair(lambda: store.append(small_id), lambda: store.append_large(big_id, event)),
        )
        inserted = []
        for _ in Plan(min(plan.rounds, ROUNDS_MAX - plan.is_quick), plan.is_quick).turns(ALLOWED_S):
            inserted.append(Sample(await _ms(lambda: limits.insert_text(plain[0], content))))
            await committed.measure(plan.seconds(FULL_S))
            await posted.measure(plan.seconds(FULL_S))
    hub.stop()
    name, limit = f"{size / 1024 / 1024:.0f} MiB", "one plain INSERT of it"
    return [
        *posted.rows("POST of 1 KB", name),
        *committed.rows("committer, 1 KB", name),
        Row("large", f"one message of {name}, POST", "ms", posted.large, limit, inserted),
        Row("large", f"one message of {name}, committer", "ms", committed.large, limit, inserted),
    ]


class Pair:
    """A small append and a large one, the small one timed alone and beside the large one, a sample a round."""

    def __init__(self, small: Work, large: Work) -> None:
        self._small, self._large = small, large
        self._alone: list[list[float]] = []
        self._beside: list[list[float]] = []
        self.large: list[Sample] = []

    async def measure(self, duration_s: float) -> None:
        """One round: at least so long each, and until one large append is done."""
        self._alone.append(await _small_ms(self._small, duration_s, lambda: True))
        busy = Busy(self._large)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(busy.run)
            self._beside.append(await _small_ms(self._small, duration_s, lambda: bool(busy.times)))
            busy.is_over = True
        self.large.append(Sample(median(busy.times)))

    def rows(self, what: str, large: str) -> list[Row]:
        rows = []
        for name, share in (("p50", 0.5), ("p95", 0.95)):
            beside, alone = ([Sample(percentile(times, share)) for times in case] for case in (self._beside, self._alone))
            rows.append(Row("large", f"{what} beside {large} ones, {name}", "ms", beside, "the same alone", alone))
        return rows


class Busy:
    """Does one thing again and again until it is over; `times` in milliseconds."""

    def __init__(self, work: Work) -> None:
        self._work, self.times, self.is_over = work, list[float](), False

    async def run(self) -> None:
        while not self.is_over:
            self.times.append(await _ms(self._work))


async def _small_ms(small: Work, duration_s: float, is_enough: Callable[[], bool]) -> list[float]:
    """The milliseconds of small appends, one after another, for a while and until it is enough."""
    times: list[float] = []
    began = time.perf_counter()
    while (passed_s := time.perf_counter() - began) < LONGEST_S and (passed_s < duration_s or not is_enough()):
        times.append(await _ms(small))
        await anyio.sleep(PAUSE_S)
    return times


async def _ms(work: Work) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000
