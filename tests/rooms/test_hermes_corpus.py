"""Real sessions of Hermes: home again as they were, there and back through Claude Code; and those of others, as exports."""

from pathlib import Path

import pytest

from adapters import registry
from adapters.claude_code import reader as claude_code
from adapters.claude_code import validator as claude_code_validator
from adapters.claude_code import writer as claude_code_writer
from adapters.hermes.reader import read
from adapters.hermes.validator import problems
from adapters.hermes.writer import write
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.session import Session, session_of
from adapters.target import Target
from eventstore.wire.codec import dump, parse

NOW = Target(now_ms=1_800_000_000_000, cwd="/work")


@pytest.fixture(scope="module")
def exports(corpus: Path) -> dict[str, list[bytes]]:
    files = sorted((corpus / "hermes").glob("export-*.jsonl"))
    if not files:
        pytest.skip(f"no exports of Hermes in {corpus}")
    return {path.name: path.read_bytes().splitlines(keepends=True) for path in files}


@pytest.fixture(scope="module")
def transcripts(corpus: Path) -> dict[str, list[bytes]]:
    files = [*sorted((corpus / "claude-code").rglob("*.jsonl")), *sorted((corpus / "hermes").glob("trace-*.jsonl"))]
    if not files:
        pytest.skip(f"no transcripts in {corpus}")
    return {path.name: path.read_bytes().splitlines(keepends=True) for path in files}


def through_a_hub(lines: list[bytes]) -> Session:
    """A hub gives each message back with its own fields beside, and the native records after them."""
    conversion = read(lines)
    said = [
        {"session_id": "ses_1", "seq": seq} | message.body | {"metadata": message.body["metadata"] | {"project": "p"}}
        for seq, message in enumerate(conversion.messages, 7)
    ]
    return Session(conversion.meta, tuple(parse(dump(entry)) for entry in [*said, *(batch.body for batch in conversion.natives)]))


def test_each_comes_home_as_it_was(exports):
    for lines in exports.values():
        file = messages_writer.write(session_of(read(lines)), Target())
        for session in (session_of(read(lines)), through_a_hub(lines), session_of(messages_reader.read(file.records))):
            written = write(session, Target())
            assert dump(written.records[0]) == dump(parse(lines[0].decode()))
            for kind in ("dropped", "degraded", "synthesised", "warnings"):
                assert written.report[kind] == []


def test_each_is_known_by_its_content_and_a_trace_is_no_export(exports, transcripts):
    for lines in exports.values():
        assert registry.detect(lines) == registry.Detection("hermes", "22", 1.0)
    for name, lines in transcripts.items():
        found = registry.detect(lines)
        assert found is not None, name
        assert found.agent == "claude-code", name


def test_the_messages_are_its_rows(exports):
    for lines in exports.values():
        rows = parse(lines[0].decode())["messages"]
        messages = [message.body for message in read(lines).messages]
        assert [(m["role"], m["content"]) for m in messages] == [(row["role"], row["content"]) for row in rows]
        assert [m.get("thinking", {}).get("content") for m in messages] == [row["reasoning"] for row in rows]
        calls = [[c["function"]["arguments"] for c in row["tool_calls"] or ()] for row in rows]
        assert [[c["function"]["arguments"] for c in m.get("tool_calls", ())] for m in messages] == calls


def test_claude_code_goes_on_with_each_and_it_comes_back(exports):
    for lines in exports.values():
        session = session_of(read(lines))
        there = claude_code_writer.write(session, NOW)
        assert claude_code_validator.problems(there.records) == []
        back = write(session_of(claude_code.read(there.records)), NOW)
        assert problems(back.records) == []
        rows = [(row["role"], row["content"] or None) for row in back.records[0]["messages"]]
        assert rows == [(message["role"], message["content"]) for message in session.messages]


def test_each_transcript_of_claude_code_is_one_that_hermes_resumes(transcripts):
    for name, lines in transcripts.items():
        session = session_of(claude_code.read(lines))
        written = write(session, NOW)
        assert problems(written.records) == [], name
        rows = written.records[0]["messages"]
        given = [call["function"]["arguments"] for message in session.messages for call in message.get("tool_calls", ())]
        assert [call["function"]["arguments"] for row in rows for call in row["tool_calls"] or ()] == given, name
        results = [message["content"] for message in session.messages if message["role"] == "tool"]
        there = [row["content"] for row in rows if row["role"] == "tool"]
        assert sorted(map(dump, there)) == sorted(map(dump, map(plain, results))), name


def plain(content):
    """A list of one text is written as that text."""
    is_one = isinstance(content, list) and len(content) == 1 and content[0]["type"] == "text"
    return content[0]["text"] if is_one else content
