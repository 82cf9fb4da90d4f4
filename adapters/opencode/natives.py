"""What is no message, for `native.recorded`, so that the way home has everything.

1. `{key, record}`: a message that is not live (reverted, compacted, of an unknown role).
2. `{key, later}`: what of a message may still change, as it is now.
3. `{document, order}`: the session itself, and the keys of its messages in the order of the document.

An id names what is in a batch: when any of it changes, it is sent again, and on the way home the newest counts. A follower leaves
out the last batch of each kind, and the session, until it rests.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from adapters.conversion import Json, NativeRecords
from adapters.opencode.records import AGENT
from eventstore.wire import codec

BATCH_RECORDS = 256
BATCH_CHARS = 384 * 1024


def batches(records: Sequence[tuple[int, Json]], version: str, closed_only: bool) -> tuple[list[NativeRecords], int]:
    """Return batches of records, each with its line, and how many records are left out."""
    cut = list(_cut(records))
    held = len(cut.pop()) if closed_only and cut else 0
    return [_batch(batch, version) for batch in cut], held


def _cut(records: Sequence[tuple[int, Json]]) -> Iterator[list[tuple[int, Json, str]]]:
    batch: list[tuple[int, Json, str]] = []
    size = 0
    for line, record in records:
        text = codec.dump(record)
        if batch and (len(batch) >= BATCH_RECORDS or size + len(text) > BATCH_CHARS):
            yield batch
            batch, size = [], 0
        batch.append((line, record, text))
        size += len(text)
    if batch:
        yield batch


def _batch(batch: Sequence[tuple[int, Json, str]], version: str) -> NativeRecords:
    digest = sha256()
    for _, _, text in batch:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    records: list[Any] = [record for _, record, _ in batch]
    append_id = f"{AGENT}:native:{digest.hexdigest()[:32]}"
    body: Json = {"agent": AGENT, "version": version, "records": records, "append_id": append_id}
    return NativeRecords(body, tuple(line for line, _, _ in batch))
