"""Append: one at a time, by 64 writers, and 100 a call; in this process and over HTTP; against the disk and plain tables."""

from bench.limits import SyncedFile
from bench.report import Row, Target
from bench.rounds import Measure, Plan, alternate, middle_ms, rate
from bench.stage import Stage
from bench.writers import Writers, writers

WRITERS = 64
PER_CALL = 100


async def measure(stage: Stage, plan: Plan) -> list[Row]:
    """Return what an append takes alone, and how many a second there are of it."""
    synced = SyncedFile(stage.folder / "synced")
    try:
        async with writers(stage, "append", WRITERS) as by:
            return [
                *await _alone(stage, plan, by, synced),
                *await _many(stage, plan, by),
                *await _batches(stage, plan, by),
            ]
    finally:
        synced.close()


async def _alone(stage: Stage, plan: Plan, by: Writers, synced: SyncedFile) -> list[Row]:
    own = stage.meter()
    measures: dict[str, Measure] = {
        "disk": lambda s: middle_ms(s, synced.write, own),
        "insert": lambda s: middle_ms(s, lambda: by.by_insert(0), own),
        "committer": lambda s: middle_ms(s, lambda: by.by_committer(0), own),
        "floor": lambda s: middle_ms(s, lambda: by.by_floor(0), stage.meter(by.floor)),
        "http": lambda s: middle_ms(s, lambda: by.by_http(0), stage.meter(by.hub)),
    }
    got = await alternate(plan, 0.5, measures)
    insert, commit, post = "one plain INSERT, p50", "one append by the committer, p50", "one POST, p50"
    return [
        Row("append", insert, "ms", got["insert"], "fdatasync of 8 kB", got["disk"]),
        Row("append", commit, "ms", got["committer"], "one plain INSERT", got["insert"]),
        Row("append", post, "ms", got["http"], "one plain INSERT", got["insert"]),
        Row("append", post, "ms", got["http"], "bare protocol, nothing stored", got["floor"]),
    ]


async def _many(stage: Stage, plan: Plan, by: Writers) -> list[Row]:
    own = stage.meter()
    measures: dict[str, Measure] = {
        "insert": lambda s: rate(s, WRITERS, by.by_insert, own),
        "told insert": lambda s: rate(s, WRITERS, by.by_insert_and_notify, own),
        "committer": lambda s: rate(s, WRITERS, by.by_committer, own),
        "floor": lambda s: rate(s, WRITERS, by.by_floor, stage.meter(by.floor)),
        "http": lambda s: rate(s, WRITERS, by.by_http, stage.meter(by.hub)),
    }
    got = await alternate(plan, 1.2, measures)
    ways = ("plain INSERTs", "INSERTs with a NOTIFY", "committer", "POST")
    insert, told, commit, post = (f"{WRITERS} writers, {way}" for way in ways)
    return [
        Row("append", commit, "/s", got["committer"], told, got["told insert"], Target("at least", 3)),
        Row("append", commit, "/s", got["committer"], insert, got["insert"]),
        Row("append", post, "/s", got["http"], commit, got["committer"]),
        Row("append", post, "/s", got["http"], "bare protocol, nothing stored", got["floor"]),
    ]


async def _batches(stage: Stage, plan: Plan, by: Writers) -> list[Row]:
    own = stage.meter()
    measures: dict[str, Measure] = {
        "copy": lambda s: rate(s, 1, lambda _: by.by_copy(0, PER_CALL), own),
        "committer": lambda s: rate(s, 1, lambda _: by.by_committer(0, PER_CALL), own),
        "http": lambda s: rate(s, 1, lambda _: by.by_http_batch(0, PER_CALL), stage.meter(by.hub)),
    }
    got = await alternate(plan, 0.7, measures)
    copy = f"COPY of {PER_CALL} into a plain table"
    return [
        Row("append", f"{PER_CALL} a call, committer", "/s", got["committer"], copy, got["copy"]),
        Row("append", f"{PER_CALL} a call, POST", "/s", got["http"], copy, got["copy"]),
    ]
