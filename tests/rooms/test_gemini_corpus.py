"""Real sessions of Gemini CLI, and our samples: home again as they were, to every other agent; those of others, as its logs."""

import os
from pathlib import Path

import pytest

from adapters import registry
from adapters.gemini.reader import read
from adapters.gemini.records import read_file
from adapters.gemini.validator import problems
from adapters.gemini.writer import write
from adapters.leaves import leaves
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.session import Session, is_harness, session_of
from adapters.target import Target
from eventstore.wire.codec import dump, parse

NOW = Target(now_ms=1_800_000_000_000, cwd="/work")
CORPUS = Path(os.environ.get("TASUKI_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")
SAMPLES = Path(__file__).parent.parent / "samples"
OURS = sorted([*(CORPUS / "gemini-cli").glob("*.jsonl"), *(SAMPLES / "gemini").iterdir()])
SOUND = [path for path in OURS if path.stem != "oddities"]
OTHERS = sorted(
    path
    for folder in ("claude-code", "codex", "dsh", "hermes", "opencode")
    for path in (CORPUS / folder).glob("*.json*")
    if path.suffix != ".zstd"  # compressed: for `cli` to open
    and path.name != "export-ses_dd645116bffeiuPUBW0qE331W6.json"  # nothing is live in it: it was reverted to its beginning
)


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def through_a_hub(lines: list[bytes]) -> Session:
    """A hub gives each message back with its own fields beside, and the native records after them."""
    conversion = read(lines)
    said = [
        {"session_id": "ses_1", "seq": seq} | message.body | {"metadata": message.body["metadata"] | {"project": "p"}}
        for seq, message in enumerate(conversion.messages, 7)
    ]
    return Session(conversion.meta, tuple(parse(dump(entry)) for entry in [*said, *(batch.body for batch in conversion.natives)]))


def spelled(lines) -> list[object]:
    """Each line's JSON, or its bytes where it is none."""
    return [dump(line.parsed.value) if line.parsed.is_exact else line.raw for line in read_file(lines).lines]


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"there is no corpus in {CORPUS}")
def test_there_is_a_corpus_to_read():
    assert [path for path in OURS if CORPUS in path.parents]
    assert len(OTHERS) >= 9


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_each_comes_home_line_by_line(path):
    lines = lines_of(path)
    file = messages_writer.write(session_of(read(lines)), Target())
    for session in (session_of(read(lines)), through_a_hub(lines), session_of(messages_reader.read(file.records))):
        written = write(session, Target())
        assert spelled(written.records) == spelled(lines)
        for kind in ("dropped", "degraded", "synthesised", "warnings"):
            assert written.report[kind] == []


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_each_is_known_by_its_content(path):
    found = registry.detect(lines_of(path)[:64])
    assert found is not None
    assert found.agent == "gemini"


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_what_others_wrote_is_not_taken_for_one(path):
    found = registry.detect(lines_of(path)[:64])
    assert found is not None
    assert found.agent != "gemini"


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_every_leaf_is_converted_or_reported(path):
    lines = lines_of(path)
    counts = read(lines).report["counts"]
    values = [line.parsed.value for line in read_file(lines).lines if line.problem in ("", "JSON, but no object")]
    assert counts["fields"]["found"] == sum(1 for value in values for _ in leaves(value))
    assert counts["lines"]["found"] == len(read_file(lines).lines)
    assert all(sums["found"] == sum(sums.values()) - sums["found"] for unit, sums in counts.items() if unit != "messages")


@pytest.mark.parametrize("agent", sorted(set(registry.WRITERS) - {"gemini"}))
@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_every_other_agent_goes_on_with_each(path, agent):
    session = session_of(read(lines_of(path)))
    written = registry.WRITERS[agent].write(session, NOW)
    assert registry.WRITERS[agent].problems(written.records) == []
    there = "".join(record.decode() if isinstance(record, bytes) else dump(record) for record in written.records)
    for message in session.messages:
        told = (
            [message["content"]] if isinstance(message["content"], str) else [part.get("text") for part in message["content"] or ()]
        )
        for text in told if not is_harness(message) else ():
            assert not text or dump(text)[1:-1] in there


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_each_goes_to_claude_code_and_comes_back(path):
    session = session_of(read(lines_of(path)))
    there = registry.WRITERS["claude-code"].write(session, NOW)
    back = write(session_of(registry.READERS["claude-code"].read(there.records)), NOW)
    assert problems(back.records) == []
    told = (m for m in session.messages if not is_harness(m) and (m["content"] or m.get("tool_calls") or m["role"] != "assistant"))
    said = [(m["role"], m["content"]) for m in told]  # what is only thought stays behind
    again = [(m.body["role"], visible(m.body["content"])) for m in read(back.records).messages]
    assert [one for one in again if one in said] == [one for one in said if one[1] or one[0] == "assistant"]


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_it_goes_on_with_the_sessions_of_others(path):
    lines = lines_of(path)
    found = registry.detect(lines[:64])
    assert found is not None
    session = session_of(registry.READERS[found.agent].read(lines))
    written = write(session, NOW)
    assert problems(written.records) == []
    back = [message.body for message in read(written.records).messages]
    calls = [call["function"]["name"] for body in back for call in body.get("tool_calls", ())]
    results = [body["tool_call_id"] for body in back if body["role"] == "tool"]
    assert results == [call["id"] for body in back for call in body.get("tool_calls", ())]
    counts = written.report["counts"]
    assert counts["fields"]["found"] == sum(1 for message in session.messages for _ in leaves(message))
    if not any(body["metadata"].get("compaction") is not None for body in back):
        assert calls == [call["function"]["name"] for m in session.messages for call in m.get("tool_calls", ())]


def visible(content):
    """Less the blank of no width that stands before what begins as a command does."""
    return content.removeprefix("\u200b") if isinstance(content, str) else content
