"""A remote that hangs for ten minutes while 1,000 snapshots are taken: appends and reads are as fast as without, and at its end
everything is pushed.

Two hubs side by side on one PostgreSQL, one with the remote and one with none, are asked in turns, so that whatever else the
machine does meets both.
"""

import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest
from archives import git, hanging, new_remote, until
from hubs import running_hub
from restclient import Rest

SNAPSHOTS, HANGS_S = 1000, 600.0
RATIO_MAX = 1.25
PUSHED_WITHIN_S = 600  # the push that hangs is given up after 120 s, and tried again up to 300 s later


@dataclass
class Caller:
    """One who appends, reads and takes snapshots at a hub, and what it waited for an append and a read, in seconds."""

    rest: Rest
    session_id: str
    append_s: list[float] = field(default_factory=list)
    read_s: list[float] = field(default_factory=list)

    async def turn(self, number: int) -> None:
        began = time.perf_counter()
        seq = (await self.rest.append(self.session_id, f"number {number}"))["seq"]
        appended = time.perf_counter()
        assert (await self.rest.page(self.session_id, max(0, seq - 50)))["messages"][-1]["seq"] == seq
        self.append_s.append(appended - began)
        self.read_s.append(time.perf_counter() - appended)
        await self.rest.snapshot(self.session_id)


@pytest.mark.long
async def test_appends_and_reads_are_as_fast_beside_a_remote_that_hangs(database: str, second_database: str, tmp_path: Path):
    remote = new_remote(tmp_path)
    git(remote, "config", "daemon.receivepack", "true")
    with (
        hanging(remote) as (address, let_go),
        running_hub(database, archive_remote=address) as hub,
        running_hub(second_database) as other,
    ):
        async with hub.client() as http, other.client() as other_http:
            beside, without = [Caller(one, await one.create()) for one in (Rest(http, "p"), Rest(other_http, "p"))]
            await take_turns(beside, without)
            waiting = await until(beside.rest, done=SNAPSHOTS)
            assert waiting["to_push"] == SNAPSHOTS, "it was not let through"
            let_go()
            await until(beside.rest, PUSHED_WITHIN_S, done=SNAPSHOTS, to_push=0, push_error=None)
    assert len(git(remote, "tag").split()) == SNAPSHOTS
    assert is_as_fast(beside.append_s, without.append_s, "append")
    assert is_as_fast(beside.read_s, without.read_s, "read")


async def take_turns(beside: Caller, without: Caller) -> None:
    """Let both do the same SNAPSHOTS times, spread over HANGS_S; who comes first alternates."""
    began = time.monotonic()
    for number in range(SNAPSHOTS):
        await anyio.sleep(max(0.0, began + number * HANGS_S / SNAPSHOTS - time.monotonic()))
        for one in (beside, without) if number % 2 else (without, beside):
            await one.turn(number)
    await anyio.sleep(max(0.0, began + HANGS_S - time.monotonic()))


def is_as_fast(beside: list[float], without: list[float], what: str) -> bool:
    ms = [statistics.median(times) * 1000 for times in (beside, without)]
    print(f"{what}: {ms[0]:.2f} ms beside it, {ms[1]:.2f} ms without: {ms[0] / ms[1]:.2f}")
    return ms[0] / ms[1] < RATIO_MAX
