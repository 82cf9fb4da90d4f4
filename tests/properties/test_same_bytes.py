"""The same event is the same bytes to every reader: whichever hub it asks, whichever way, while it is written or ever after."""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import anyio
import httpx2
import pytest
from drawn_writes import Writes
from exact_readers import MODES, Exact, ExactReader, Mode, differences, from_the_start
from fleet import Fleet, running_fleet
from tails import eventually, health

HUBS, WRITERS, SESSIONS = 3, 3, 4
READ_WITHIN_S = 20
Later = dict[tuple[str, Mode], Exact]
"""What is read of a session in a mode when all is written."""


@pytest.fixture(scope="module")
def fleet(module_database: str) -> Iterator[Fleet]:
    with running_fleet(module_database, HUBS) as fleet:
        yield fleet


@pytest.mark.parametrize("seed", range(3))
async def test_all_who_read_while_it_is_written_have_the_bytes_that_a_later_reader_has_at_every_hub(fleet, seed):
    assert await run(fleet, f"seed {seed}", writes=80, readers=60) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 112))
async def test_all_who_read_have_the_same_bytes_in_many_more_runs(fleet, seed):
    assert await run(fleet, f"seed {seed}", writes=300, readers=120) == []


async def test_a_hub_that_hands_over_in_another_spelling_is_found_out(database):
    with running_fleet(database, HUBS, program="planted_page") as fleet:
        found = await run(fleet, "seed 0", writes=40, readers=30)
    assert any('"seq": ' in difference for difference in found)


async def run(fleet: Fleet, seed: str, writes: int, readers: int) -> list[str]:
    """Let writers write while readers come, at any moment and with any cursor. Return what they saw that a later one does not."""
    reading: list[ExactReader] = []
    async with fleet.clients() as https:
        began_after = (await health(https[0]))["head_seq"]
        writers = [Writes(f"{seed} {number}", https) for number in range(WRITERS)]
        for writer in writers:
            await writer.begin(SESSIONS)
        async with anyio.create_task_group() as tasks:

            async def write(writer: Writes) -> None:
                for _ in range(writes):
                    await writer.write()
                    if writer.dice.random() < readers / (WRITERS * writes):
                        reading.append(comes(writer, https, began_after))
                        tasks.start_soon(reading[-1].run)

            async with anyio.create_task_group() as writing:
                for writer in writers:
                    writing.start_soon(write, writer)
            wanted = await read_later(https[0], reading, began_after)
            with suppress(AssertionError):  # what is missing then is told below
                await eventually(partial(behind, reading, wanted), lambda names: not names, READ_WITHIN_S)
            tasks.cancel_scope.cancel()
        found = [difference for http in https[1:] for difference in compared(wanted, await read_later(http, reading, began_after))]
    return found + [difference for reader in reading for difference in differences(reader.name, reader.seen, due(reader, wanted))]


def comes(writer: Writes, https: list[httpx2.AsyncClient], log_after: int) -> ExactReader:
    """A reader as the dice have it: of what, how, from where on, and at which hubs. Of the log not what was there before."""
    dice = writer.dice
    session_id, mode = dice.choice(writer.session_ids), dice.choice(MODES)
    after_seq = max(dice.choice([0, writer.head, dice.randint(0, writer.head)]), log_after if mode == "log" else 0)
    place = dice.randint(0, HUBS)
    name = f"{mode} of {session_id} after {after_seq} at {place if place < HUBS else 'all'}"
    hubs = [https[place]] if place < HUBS else dice.sample(https, HUBS)
    return ExactReader(name, hubs, session_id, mode, after_seq, random.Random(dice.random()))


async def read_later(http: httpx2.AsyncClient, readers: list[ExactReader], log_after: int) -> Later:
    """All that there is of what these read, from the start, at one hub."""
    log = await from_the_start(http, "", "log", 0, log_after)
    last = {json.loads(event)["session_id"]: seq for seq, event in log}
    read: Later = {("", "log"): log}
    for session_id, mode in {(reader.session_id, reader.mode) for reader in readers if reader.mode != "log"}:
        read[session_id, mode] = await from_the_start(http, session_id, mode, last[session_id])
    return read


async def behind(readers: list[ExactReader], wanted: Later) -> list[str]:
    """Who has not read to the end."""
    return [reader.name for reader in readers if len(reader.seen) < len(due(reader, wanted))]


def due(reader: ExactReader, wanted: Later) -> Exact:
    """What a reader must have seen."""
    items = wanted["" if reader.mode == "log" else reader.session_id, reader.mode]
    return [(seq, item) for seq, item in items if seq > reader.began_after]


def compared(one: Later, other: Later) -> list[str]:
    """Where two hubs do not give the same."""
    return [found for key in one for found in differences(f"{key} at another hub", other[key], one[key])]
