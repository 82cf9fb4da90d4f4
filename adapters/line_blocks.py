"""Lines that are no message, in batches for `native.recorded`, so that the way home has every line.

1. The file is cut into blocks by its own lines, live or not: a block is closed at BLOCK_LINES or BLOCK_BYTES. Cuts
   never move when the file grows, so a closed block is the same batch with the same id on every run, as long as its
   lines keep their fate.
2. The id names what is in the batch. When a rewind turns messages into dead lines, or the open block at the end grows,
   it is a new batch that holds all of the block; the same line may then be in the hub twice, with the same record. On
   the way home, one record per line number is taken, the newest: that also replaces what was once a torn last line.
3. A follower leaves out the open block until it is closed or the session rests (`is_final`), so nothing is sent twice
   while it runs.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import islice

from adapters.conversion import Json, NativeRecords
from adapters.json_lines import native_record

BLOCK_LINES = 256
BLOCK_BYTES = 384 * 1024

Kept = Callable[[int], bool]  # is the line of this number no message?


def blocks(sizes: Sequence[int]) -> list[range]:
    """Cut the file, given as the bytes of each line: ranges of indexes that together cover it; all but the last are closed."""
    cuts: list[range] = []
    start = total = 0
    for index, size in enumerate(sizes):
        if index > start and (index - start >= BLOCK_LINES or total + size > BLOCK_BYTES):
            cuts.append(range(start, index))
            start, total = index, 0
        total += size
    if start < len(sizes):
        cuts.append(range(start, len(sizes)))
    return cuts


def batches(
    agent: str, numbered: Iterator[tuple[int, memoryview]], cuts: Sequence[range], kept: Kept, versions: Sequence[str]
) -> Iterator[NativeRecords]:
    """Yield a batch for each block that holds lines to keep. `numbered` gives all lines, `versions` the agent's at each."""
    for block in cuts:
        numbers, raws = [], []
        for number, raw in islice(numbered, len(block)):
            if kept(number):
                numbers.append(number)
                raws.append(raw)
            del raw
        if numbers:
            yield _batch(agent, numbers, raws, versions[block[-1]])


def _batch(agent: str, numbers: Sequence[int], raws: list[memoryview], version: str) -> NativeRecords:
    """Return the batch of these lines; `raws` is empty then: each is let go when it is read."""
    digest = sha256()
    for number, raw in zip(numbers, raws, strict=True):
        digest.update(b"%d:%d:" % (number, len(raw)))
        digest.update(raw)
    del raw
    raws.reverse()
    body: Json = {
        "agent": agent,
        "version": version or "unknown",
        "records": [native_record(number, raws.pop()) for number in numbers],
        "append_id": f"{agent}:native:{numbers[0]}-{numbers[-1]}:{digest.hexdigest()[:32]}",
    }
    return NativeRecords(body, tuple(numbers))
