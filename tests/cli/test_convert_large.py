"""A transcript far larger than what it may take of memory, there and home again."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.transcripts import transcript

MB = 1_000_000


# What a process held at most is told by itself: what its parent hears of it counts the parent's own memory, which it began in.
CONVERT = """
import sys
from cli.main import main
status = main()
held = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(held.split()[1], file=sys.stderr)
sys.exit(status)
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process held at most")


def peak_mb(*arguments: object) -> float:
    """Run a conversion in a process of its own; return how many MB it held at most."""
    command = [sys.executable, "-c", CONVERT, "convert", "--no-redact", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1]) * 1024 / MB


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
    assert peak_mb("--to", "claude-code", tmp_path / "m.jsonl", tmp_path / "back.jsonl") < 300
    assert all(same(tmp_path / "in.jsonl", tmp_path / "back.jsonl"))
