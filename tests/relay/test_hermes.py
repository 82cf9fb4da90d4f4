"""The real Hermes goes on with what we write: imported, resumed, and the model is shown all that was said before.

It runs in a home of its own, against a scripted model on this machine.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agent_hermes import PROGRAM, Hermes, hermes_in
from pulling import Host, hub_and_host
from real_agents import MARKER
from scripted_model import ANSWER

from adapters.claude_code.reader import read as read_claude_code
from adapters.conversion import Json
from adapters.hermes.reader import read_document
from adapters.hermes.validator import problems
from adapters.hermes.writer import live_only, write
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from cli.containers_hermes import read_container, read_database, sessions_in, write_container
from eventstore.errors import InvalidJson
from eventstore.wire.codec import dump, parse

SAMPLES = Path(__file__).parent.parent / "samples"
IMPORT = """
import json, sys
from pathlib import Path
from hermes_state import SessionDB
print(json.dumps(SessionDB(Path(sys.argv[1])).import_sessions([json.loads(line) for line in open(sys.argv[2], encoding="utf-8")])))
"""
pytestmark = pytest.mark.skipif(not PROGRAM, reason="there is no hermes (PyPI hermes-agent): set TASUKI_HERMES")


@pytest.fixture
def hermes(tmp_path: Path) -> Iterator[Hermes]:
    with hermes_in(tmp_path) as agent:
        yield agent


@pytest.fixture
def host(hermes: Hermes, module_database: str) -> Iterator[Host]:
    """A hub, and the command line where Hermes runs."""
    with hub_and_host(module_database, hermes.home) as host:
        yield host


def target_of(hermes: Hermes) -> Target:
    return Target(cwd=str(hermes.work), now_ms=int(time.time() * 1000))


def take(hermes: Hermes, *written: Written) -> Json:
    """Import sessions; return what Hermes says."""
    file = hermes.home / "sessions.jsonl"
    file.write_text("".join(dump(live_only(one.records[0])[0]) + "\n" for one in written), "utf-8")
    python = Path(PROGRAM).absolute().with_name("python")
    said: Json = parse(hermes.ran(str(python), "-c", IMPORT, str(hermes.database), str(file)).splitlines()[-1])
    return said


def resume(hermes: Hermes, session_id: str) -> list[dict[str, Any]]:
    """Go on with a session; return what the model was shown."""
    assert ANSWER in hermes.go_on(session_id, MARKER)
    shown: list[dict[str, Any]] = hermes.model.conversation(MARKER)
    return shown


def claude_code(path: Path) -> Session:
    return session_of(read_claude_code(path.read_bytes().splitlines(keepends=True)))


def bare(content: Any) -> str:
    """A content's text without spaces: Hermes strips and joins."""
    if isinstance(content, list):
        return "".join(bare(part.get("text")) for part in content)
    return "".join(content.split()) if isinstance(content, str) else ""


def value(call: Json) -> Any:
    """What a call's arguments mean, None for what is no JSON."""
    try:
        return parse(call["function"]["arguments"])
    except InvalidJson:
        return None


def assert_all_was_shown(shown: list[dict[str, Any]], document: Json) -> None:
    """Every live row of an export, its calls and results, in their order."""
    live = live_only(document)[0]["messages"]
    assert live
    for role in ("user", "assistant", "tool"):
        there = "".join(bare(message.get("content")) for message in shown if message["role"] == role)
        at = 0
        for row in live:
            if row["role"] == role:
                found = there.find(bare(row["content"]), at)
                assert found >= 0, f"{role}: {str(row['content'])[:200]!r} was not shown, or in another order"
                at = found
    calls = [call for row in live for call in row["tool_calls"] or ()]
    seen = [call for message in shown for call in message.get("tool_calls") or ()]
    assert [call["function"]["name"] for call in seen] == [call["function"]["name"] for call in calls]
    for ours, theirs in zip(calls, seen, strict=True):
        if (meant := value(ours)) is not None:  # what is no JSON, Hermes mends for the model
            assert value(theirs) == meant
    assert [message["tool_call_id"] for message in shown if message["role"] == "tool"] == [call["id"] for call in seen]


def converted(agent: Hermes, session: Session) -> Written:
    written = write(session, target_of(agent))
    assert problems(written.records) == []
    return written


def words_found(agent: Hermes, word: str) -> int:
    """How many rows Hermes's own search finds."""
    with closing(sqlite3.connect(agent.database)) as database:
        count: int = database.execute("select count(*) from messages_fts where messages_fts match ?", (word,)).fetchone()[0]
        return count


@pytest.mark.parametrize("name", ["blocks", "parallel", "compaction"])
def test_a_session_of_claude_code_is_gone_on_with(hermes, name):
    written = converted(hermes, claude_code(SAMPLES / "claude_code" / f"{name}.jsonl"))
    assert take(hermes, written)["imported_ids"] == [written.session_id]
    assert_all_was_shown(resume(hermes, written.session_id), written.records[0])


def test_every_claude_code_session_of_the_corpus_is_gone_on_with_and_comes_back(hermes, corpus):
    files = sorted((corpus / "claude-code").glob("*.jsonl"))
    if not files:
        pytest.skip(f"no Claude Code transcripts in {corpus}")
    all_written = [converted(hermes, claude_code(path)) for path in files]
    assert take(hermes, *all_written)["imported_ids"] == [written.session_id for written in all_written]
    for written in all_written:
        assert_all_was_shown(resume(hermes, written.session_id), written.records[0])
        stored = read_database(hermes.database, written.session_id)
        ours, theirs = read_document(parse(dump(live_only(written.records[0])[0]))), read_document(stored.document)
        names = [message.append_id for message in ours.messages]
        assert [message.append_id for message in theirs.messages][: len(names)] == names, "imported rows are the same messages"
        assert [message.body["content"] for message in theirs.messages][len(names) :] == [MARKER, ANSWER]
        assert stored.problems == []


def test_a_database_that_we_wrote_is_one_that_hermes_opens_and_searches(hermes):
    written = converted(hermes, claude_code(SAMPLES / "claude_code" / "compaction.jsonl"))
    assert write_container(hermes.database, [written.records[0]]) == []
    assert_all_was_shown(resume(hermes, written.session_id), written.records[0])
    again = read_container(hermes.database, written.session_id).document
    kept = [row["content"] for row in again["messages"]][: len(written.records[0]["messages"])]
    assert kept == [row["content"] for row in written.records[0]["messages"]]
    assert [listed.session_id for listed in sessions_in(hermes.database)] == [written.session_id]


def test_a_session_of_hermes_goes_home_and_on(hermes, corpus):
    files = sorted((corpus / "hermes").glob("export-*.jsonl"))
    if not files:
        pytest.skip(f"no exports of Hermes in {corpus}")
    written = write(session_of(read_document(read_container(files[0]).document)), Target())
    assert take(hermes, written)["imported_ids"] == [written.session_id]
    assert_all_was_shown(resume(hermes, written.session_id), written.records[0])


@pytest.mark.parametrize("is_new", [True, False], ids=["a store that we make", "a store that hermes made"])
@pytest.mark.parametrize("name", ["blocks", "parallel", "compaction"])
def test_a_session_pulled_from_a_hub_is_gone_on_with_by_its_own_command(hermes, host, name, is_new):
    if not is_new:
        take(hermes, converted(hermes, claude_code(SAMPLES.parent.parent / "cli" / "samples" / "relay-timer.jsonl")))
    session = host.pushed(SAMPLES / "claude_code" / f"{name}.jsonl", f"{name}-{is_new}")
    pull = ("pull", session, "--to", "hermes", "--install", "--cwd", hermes.work)
    told = host.json(*pull)
    assert told["command"] == ["hermes", "--resume", told["native_session_id"]]
    assert host.json(*pull)["was_there"] is True
    document = read_database(hermes.database, told["native_session_id"]).document
    assert_all_was_shown(resume(hermes, told["native_session_id"]), document)
    host.refused("gone_on", "pull", session, "--to", "hermes", "--undo")


def test_a_session_of_hermes_goes_through_a_hub_and_home_with_its_dead_rows(hermes, host, corpus):
    files = sorted((corpus / "hermes").glob("export-*.jsonl"))
    if not files:
        pytest.skip(f"no exports of Hermes in {corpus}")
    session = host.pushed(files[0], "home")
    told = host.json("pull", session, "--to", "hermes", "--install", "--cwd", hermes.work)
    document = read_database(hermes.database, told["native_session_id"]).document
    assert [row["content"] for row in document["messages"]] == [
        row["content"] for row in read_container(files[0]).document["messages"]
    ]
    assert_all_was_shown(resume(hermes, told["native_session_id"]), document)


def test_undo_leaves_no_trace_in_a_store_that_hermes_made_and_searches(hermes, host):
    take(hermes, converted(hermes, claude_code(SAMPLES / "claude_code" / "blocks.jsonl")))
    before = {listed.session_id for listed in sessions_in(hermes.database)}
    session = host.pushed(SAMPLES.parent.parent / "cli" / "samples" / "relay-timer.jsonl", "undone")
    told = host.json("pull", session, "--to", "hermes", "--install", "--cwd", hermes.work)
    assert words_found(hermes, "relay") > 0
    host.json("pull", session, "--to", "hermes", "--undo")
    assert words_found(hermes, "relay") == 0
    assert told["native_session_id"] not in {listed.session_id for listed in sessions_in(hermes.database)} == before
