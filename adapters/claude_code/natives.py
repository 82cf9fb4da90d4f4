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

from collections.abc import Sequence
from hashlib import sha256

from adapters.claude_code.records import AGENT, native_record
from adapters.claude_code.transcript import Transcript
from adapters.conversion import Json, NativeRecords

BLOCK_LINES = 256
BLOCK_BYTES = 384 * 1024


def blocks(raws: Sequence[bytes]) -> list[range]:
    """Cut the file: ranges of indexes that together cover it; all but the last are closed."""
    cuts: list[range] = []
    start = size = 0
    for index, raw in enumerate(raws):
        if index > start and (index - start >= BLOCK_LINES or size + len(raw) > BLOCK_BYTES):
            cuts.append(range(start, index))
            start, size = index, 0
        size += len(raw)
    if start < len(raws):
        cuts.append(range(start, len(raws)))
    return cuts


def batches(file: Transcript, native: set[int], closed_only: bool) -> tuple[list[NativeRecords], set[int]]:
    """Return a batch for each block that holds lines whose number is in `native`, and the numbers that are left out."""
    cuts = blocks(file.raws)
    open_block = cuts.pop() if closed_only and cuts else range(0)
    kept = [[index for index in block if index + 1 in native] for block in cuts]
    held = {index + 1 for index in open_block if index + 1 in native}
    return [_batch(file, block[-1], indexes) for block, indexes in zip(cuts, kept, strict=True) if indexes], held


def _batch(file: Transcript, end: int, indexes: Sequence[int]) -> NativeRecords:
    digest = sha256()
    for index in indexes:
        digest.update(b"%d:%d:" % (index + 1, len(file.raws[index])))
        digest.update(file.raws[index])
    body: Json = {
        "agent": AGENT,
        "version": file.versions[end] or "unknown",
        "records": [native_record(index + 1, file.raws[index]) for index in indexes],
        "append_id": f"{AGENT}:native:{indexes[0] + 1}-{indexes[-1] + 1}:{digest.hexdigest()[:32]}",
    }
    return NativeRecords(body, tuple(index + 1 for index in indexes))
