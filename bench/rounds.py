"""Rounds: measure several things in alternation, A B A B, so that what disturbs the machine disturbs them alike."""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

import anyio

from bench.cpu import Meter
from bench.report import Sample

ROUNDS_MIN = 2
LATE = 1.5  # how much longer than it should a part may take before it goes without further rounds
Measure = Callable[[float], Awaitable[Sample]]
"""Measures for about so many seconds."""


@dataclass(frozen=True)
class Plan:
    """How much is measured. `scale` shortens every duration of a quick run."""

    rounds: int
    is_quick: bool

    @property
    def scale(self) -> float:
        return 0.2 if self.is_quick else 1.0

    def seconds(self, full_s: float) -> float:
        return full_s * self.scale

    def count(self, full: int) -> int:
        return max(4, round(full * self.scale))

    def turns(self, allowed_s: float) -> Iterator[int]:
        """The rounds; on a machine so busy that they take longer than a full run is allowed, fewer, but not below two."""
        began = time.monotonic()
        for number in range(self.rounds):
            if number >= ROUNDS_MIN and time.monotonic() - began > self.seconds(allowed_s):
                return
            yield number


async def alternate(plan: Plan, full_s: float, measures: Mapping[str, Measure]) -> dict[str, list[Sample]]:
    """Return a sample a round of each measure. A short first round is thrown away; each round begins with another measure."""
    names = list(measures)
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    for name in names:
        await measures[name](min(0.2, plan.seconds(full_s)))
    for number in plan.turns(LATE * plan.rounds * len(names) * full_s):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            samples[name].append(await measures[name](plan.seconds(full_s)))
    return samples


async def rate(duration_s: float, workers: int, one: Callable[[int], Awaitable[int]], meter: Meter) -> Sample:
    """Return how many items a second `workers` get done together; `one(worker)` does some and says how many."""
    done = 0
    before = meter.read()
    began = time.perf_counter()

    async def work(worker: int) -> None:
        nonlocal done
        while time.perf_counter() - began < duration_s:
            items = await one(worker)  # not within `+=`, which would read `done` before it waits
            done += items

    async with anyio.create_task_group() as tasks:
        for worker in range(workers):
            tasks.start_soon(work, worker)
    took_s = time.perf_counter() - began
    return Sample(done / took_s, *meter.since(before, done))


async def middle_ms(duration_s: float, one: Callable[[], Awaitable[object]], meter: Meter) -> Sample:
    """Return the median time of `one`, done again and again, in milliseconds."""
    times: list[float] = []
    before = meter.read()
    ends = time.perf_counter() + duration_s
    while not times or time.perf_counter() < ends:
        began = time.perf_counter()
        await one()
        times.append((time.perf_counter() - began) * 1000)
    return Sample(median(times), *meter.since(before, len(times)))
