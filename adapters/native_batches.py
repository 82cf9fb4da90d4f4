"""Records that are no message, in batches for `native.recorded`.

An id names what is in a batch: when any of it changes, it is sent again, and on the way home the newest counts.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256

from adapters.conversion import Conversion, Json, NativeRecords
from adapters.report import Report
from eventstore.wire import codec

BATCH_RECORDS = 256
BATCH_CHARS = 384 * 1024


def batches(
    agent: str, version: str, records: Sequence[tuple[int, Json]], *, closed_only: bool = False
) -> tuple[list[NativeRecords], int]:
    """Return batches of records, each with its line, and how many records are left out: `closed_only`, those of the last batch."""
    cut = list(_cut(records))
    held = len(cut.pop()) if closed_only and cut else 0
    return [_batch(agent, version, batch) for batch in cut], held


def unreadable(agent: str, unit: str, raw: bytes, problem: str) -> Conversion:
    """Return what becomes of bytes that cannot be read: their text is kept. `unit` is what the agent's report counts."""
    report = Report(agent, "unknown", "to_standard")
    report.found(unit)
    report.note("kept_native", f"{unit}/unreadable", problem, "session")
    report.warn(f"{unit}/unreadable", problem, "session")
    try:
        kept: Json = {"unreadable": raw.decode("utf-8")}
    except UnicodeDecodeError:
        kept = {"unreadable_base64": b64encode(raw).decode("ascii")}
    natives, _ = batches(agent, "unknown", [(1, kept)])
    return Conversion(agent, "unknown", {"agent_source": agent}, tuple(natives), report.to_dict())


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


def _batch(agent: str, version: str, batch: Sequence[tuple[int, Json, str]]) -> NativeRecords:
    digest = sha256()
    for _, _, text in batch:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\n")
    body: Json = {
        "agent": agent,
        "version": version,
        "records": [record for _, record, _ in batch],
        "append_id": f"{agent}:native:{digest.hexdigest()[:32]}",
    }
    return NativeRecords(body, tuple(line for line, _, _ in batch))
