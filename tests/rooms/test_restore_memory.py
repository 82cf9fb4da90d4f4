"""Restoring holds a bounded part of the archive, however many sessions were written side by side, in the order of the log."""

import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from eventstore.errors import RestoreRefused
from workers.archive import segments
from workers.archive.export import segment_path
from workers.archive.layout import Card, Line, Tail, card_path, grow
from workers.archive.repository import Repository
from workers.archive.restore import _Archived

SESSIONS, MESSAGES, TEXT = 40, 50, "x" * 5000
MOMENT = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions that took turns: 10 MB, each with segments of its own."""
    path = tmp_path_factory.mktemp("archive") / "a.git"
    repository = Repository(path)
    change: dict[tuple[str, ...], str | None] = {}
    for number in range(1, SESSIONS + 1):
        session_id = f"ses_00000000-0000-7000-8000-{number:012x}"
        tails = {"snapshots": Tail()}
        for stream, lines in (("sessions", messages(session_id, number)), ("events", events(number))):
            tails[stream], changed = grow(Tail(), b"", lines)
            change |= {segment_path(session_id, stream, n): repository.put(content) for n, content in changed.items()}
        card = Card(session_id, "p", number, f"made {number}", MOMENT, {}, number, tails=tails)
        change[card_path(session_id)] = repository.put(card.to_json())
    repository.advance(repository.commit(None, change, "all\n", datetime(2026, 1, 1, tzinfo=UTC)))
    return path


def seqs(number: int) -> Iterator[int]:
    return (SESSIONS * turn + number for turn in range(1, MESSAGES + 1))


def messages(session_id: str, number: int) -> Iterator[Line]:
    for seq in seqs(number):
        text = f'{{"session_id":"{session_id}","seq":{seq},"role":"user","content":"{TEXT}"}}'
        yield Line(seq, text.encode())


def events(number: int) -> Iterator[Line]:
    for seq in seqs(number):
        text = f'{{"seq":{seq},"kind":"message.appended","append_id":"a{seq}","created_at":"{MOMENT}"}}'
        yield Line(seq, text.encode())


@pytest.mark.parametrize("held_bytes_max", [segments.HELD_BYTES_MAX, 1_000_000, 1])
def test_events_come_in_the_order_of_the_log_however_little_is_held(archive: Path, monkeypatch, held_bytes_max: int):
    monkeypatch.setattr(segments, "HELD_BYTES_MAX", held_bytes_max)
    found = _Archived(archive, None)
    assert [event.seq for event in found.events()] == list(range(1, SESSIONS * (MESSAGES + 1) + 1))


def test_what_is_held_is_bounded(archive: Path, monkeypatch):
    def most_held(held_bytes_max: int) -> int:
        monkeypatch.setattr(segments, "HELD_BYTES_MAX", held_bytes_max)
        found = _Archived(archive, None)
        tracemalloc.start()
        try:
            for event in found.events():
                assert event.body
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    whole = SESSIONS * MESSAGES * len(TEXT)
    assert most_held(whole * 2) > whole, "a bound that is too high for this archive is none"
    assert most_held(1_000_000) < 1_000_000 + whole / 4


def test_a_segment_that_is_missing_is_named(archive: Path):
    repository = Repository(archive)
    assert repository.main
    with pytest.raises(RestoreRefused, match="lacks sessions/00/no"):
        next(segments.Segments(repository, repository.main).lines(("sessions", "00", "no.0001.jsonl")))
