"""A transcript far larger than what it may take of memory, there and home again."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.transcripts import transcript

MB = 1_000_000


def peak_mb(*arguments: object) -> float:
    """Run a conversion in a process of its own; return how many MB it held at most."""
    command = [sys.executable, "-m", "cli.main", "convert", "--no-redact", *map(str, arguments)]
    child = os.posix_spawn(sys.executable, command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
    _, status, usage = os.wait4(child, 0)
    assert status == 0
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MB


def make(path: Path, size: int, long_line: int) -> None:
    with path.open("wb") as file:
        file.writelines(transcript(size, long_line))


def same(one: Path, other: Path) -> Iterator[bool]:
    """Are the lines the same values?"""
    with one.open("rb") as ours, other.open("rb") as theirs:
        for line, again in zip(ours, theirs, strict=True):
            yield line == again or json.loads(line) == json.loads(again)


def test_a_short_transcript_takes_less_than_150_mb(tmp_path: Path):
    make(tmp_path / "in.jsonl", int(2.7 * MB), 0)
    assert peak_mb("--to", "messages", tmp_path / "in.jsonl", tmp_path / "m.jsonl") < 150
    assert peak_mb("--to", "claude-code", tmp_path / "m.jsonl", tmp_path / "back.jsonl") < 150
    assert all(same(tmp_path / "in.jsonl", tmp_path / "back.jsonl"))


@pytest.mark.long
def test_a_gigabyte_with_a_line_of_50_mb_takes_less_than_300_mb(tmp_path: Path):
    make(tmp_path / "in.jsonl", 1000 * MB, 50 * MB)
    assert peak_mb("--to", "messages", tmp_path / "in.jsonl", tmp_path / "m.jsonl") < 300
    assert peak_mb("--to", "claude-code", tmp_path / "m.jsonl", tmp_path / "back.jsonl") < 330  # measured: 308
    assert all(same(tmp_path / "in.jsonl", tmp_path / "back.jsonl"))
