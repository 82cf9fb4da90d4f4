"""Real sessions of Codex: home again as they were, there and back through every other agent; and those of others, as rollouts."""

from pathlib import Path

import pytest

from adapters import registry
from adapters.codex.reader import read
from adapters.codex.validator import problems
from adapters.codex.writer import write
from adapters.json_lines import parse_line
from adapters.leaves import leaves
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.registry import READERS, WRITERS
from adapters.session import Session, is_harness, session_of
from adapters.target import Target
from eventstore.wire.codec import dump, parse

NOW = Target(now_ms=1_900_000_000_000, cwd="/work")
OTHERS = ["claude-code", "hermes", "opencode", "messages"]


@pytest.fixture(scope="module")
def own(corpus: Path) -> dict[str, list[bytes]]:
    files = sorted((corpus / "codex").glob("*.jsonl"))
    if not files:
        pytest.skip(f"no rollouts in {corpus}")
    return {path.name: path.read_bytes().splitlines(keepends=True) for path in files}


@pytest.fixture(scope="module")
def of_others(corpus: Path) -> dict[str, list[bytes]]:
    """Files of every agent but this one that a reader knows."""
    paths = [path for path in sorted(corpus.rglob("*")) if path.suffix in (".jsonl", ".json") and path.parent.name != "codex"]
    files = {str(path.relative_to(corpus)): path.read_bytes().splitlines(keepends=True) for path in paths}
    known = {name: lines for name, lines in files.items() if registry.detect(lines[:64])}
    if not known:
        pytest.skip(f"no files of other agents in {corpus}")
    return known


def agent_of(lines: list[bytes]) -> str:
    found = registry.detect(lines[:64])
    return found.agent if found else ""


def of_any(lines: list[bytes]) -> Session:
    return session_of(READERS[agent_of(lines)].read(lines))


def through_a_hub(lines: list[bytes]) -> Session:
    """A hub gives each message back with its own fields beside, and the native records after them."""
    conversion = read(lines)
    said = [
        {"session_id": "ses_1", "seq": seq} | message.body | {"metadata": message.body["metadata"] | {"project": "p"}}
        for seq, message in enumerate(conversion.messages, 7)
    ]
    return Session(conversion.meta, tuple(parse(dump(entry)) for entry in [*said, *(batch.body for batch in conversion.natives)]))


def test_each_is_known_by_its_content(own, of_others):
    assert {agent_of(lines) for lines in own.values()} == {"codex"}
    assert "codex" not in {agent_of(lines) for lines in of_others.values()}


def test_each_comes_home_line_by_line_as_it_was(own):
    for name, lines in own.items():
        file = messages_writer.write(session_of(read(lines)), Target())
        for session in (session_of(read(lines)), through_a_hub(lines), session_of(messages_reader.read(file.records))):
            written = write(session, Target())
            assert [parse(line.decode()) for line in written.records] == [parse(line.decode()) for line in lines]
            assert written.path.endswith(name[-len("55fe4488-c6bd-46fa-9390-dab3b8860b95.jsonl") :])
            for kind in ("dropped", "degraded", "synthesised", "warnings"):
                assert written.report[kind] == []


def test_every_leaf_of_each_is_counted(own):
    for lines in own.values():
        counts = read(lines).report["counts"]
        assert counts["lines"]["found"] == len(lines)
        assert counts["fields"]["found"] == sum(1 for line in lines for _ in leaves(parse_line(line.rstrip(b"\r\n")).value))


@pytest.mark.parametrize("agent", OTHERS)
def test_any_other_agent_goes_on_with_each_and_it_comes_back(own, agent):
    for name, lines in own.items():
        session = session_of(read(lines))
        there = registry.write(agent, session, NOW)
        file = WRITERS[agent].file(there.records)[0].splitlines(keepends=True)
        back = registry.write("codex", session_of(READERS[agent].read(file)), NOW)
        assert spoken(back_of(back.records)) == spoken(session), name
        assert results(back_of(back.records)) == results(session), name


def test_a_session_of_any_other_agent_is_one_that_codex_resumes(of_others):
    for name, lines in of_others.items():
        session = of_any(lines)
        written = registry.write("codex", session, NOW)
        assert problems(written.records) == ([] if session.messages else ["nothing was said"]), name
        back = back_of(written.records)
        assert spoken(back) == spoken(session), name
        given = [call["function"]["arguments"] for message in session.messages for call in message.get("tool_calls", ())]
        assert [call["function"]["arguments"] for m in back.messages for call in m.get("tool_calls", ())] == given, name
        found = sum(1 for message in session.messages for _ in leaves(message))
        assert written.report["counts"].get("fields", {"found": 0})["found"] == found, name


def back_of(records: tuple[bytes, ...]) -> Session:
    return session_of(read(records))


def spoken(session: Session) -> list[str]:
    """What people and the agent said: less what a harness put in, in the order of the session."""
    said = (m for m in session.messages if m["role"] in ("user", "assistant") and not is_harness(m) and not is_orphan(m))
    return [text for message in said for text in texts(message.get("content"))]


def is_orphan(message: dict) -> bool:
    return "whose call is not in this session" in dump(message.get("content"))


def texts(content: object) -> list[str]:
    if isinstance(content, list):
        return [part["text"] for part in content if part["type"] == "text" and part["text"].strip()]
    return [content] if isinstance(content, str) and content.strip() else []


def results(session: Session) -> list[str]:
    return sorted(dump(texts(message["content"])) for message in session.messages if message["role"] == "tool")
