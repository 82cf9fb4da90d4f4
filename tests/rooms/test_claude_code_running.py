"""A transcript that grows says, at every line, what a reading of the whole says, and converts each line once."""

from pathlib import Path

import pytest

from adapters.claude_code import running
from adapters.claude_code.reader import messages_of, read
from adapters.claude_code.running import Running

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "tests/samples/claude_code").glob("*.jsonl"), *(ROOT / "cli/samples").glob("*.jsonl")])


def said(conversion):
    messages = [(one.body, one.native_id, one.parent_id, one.line, one.part) for one in conversion.messages]
    return messages, conversion.off_branch, conversion.meta, conversion.subagents


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_at_every_line_it_says_what_the_whole_says(path):
    lines = [line + b"\n" for line in path.read_bytes().split(b"\n")[:-1]]
    growing = Running()
    for count in range(1, len(lines) + 1):
        growing.add(lines[count - 1 : count])
        assert said(growing.conversion(lines[:count])) == said(read(lines[:count], is_final=False))


def test_real_transcripts_say_the_same_in_steps(corpus):
    for path in sorted((corpus / "claude-code").glob("*.jsonl")):
        lines = [line + b"\n" for line in path.read_bytes().split(b"\n")[:-1]]
        growing = Running()
        step = max(1, len(lines) // 7)
        for start in range(0, len(lines), step):
            growing.add(lines[start : start + step])
            so_far = lines[: start + step]
            assert said(growing.conversion(so_far)) == said(read(so_far, is_final=False))


def test_each_line_is_converted_once(monkeypatch):
    lines = [line + b"\n" for line in FILES[-1].read_bytes().split(b"\n")[:-1]]
    converted: list[int] = []

    def noted(file, line, box, is_subagent, report):
        converted.append(line.number)
        return messages_of(file, line, box, is_subagent, report)

    monkeypatch.setattr(running, "messages_of", noted)
    growing = Running()
    for count in range(1, len(lines) + 1):
        growing.add(lines[count - 1 : count])
        growing.conversion(lines[:count])
    assert len(converted) == len(set(converted))
