"""The real OpenCode goes on with what we write: imported, resumed, and the model is shown all that was said before.

It runs in a home of its own, against a scripted model on this machine.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_opencode import PROGRAM, OpenCode, opencode_in
from pulling import Host, hub_and_host
from real_agents import MARKER
from scripted_model import ANSWER, MODEL

from adapters import registry
from adapters.claude_code.reader import read as read_claude_code
from adapters.conversion import Json
from adapters.opencode.reader import read_document
from adapters.opencode.validator import problems
from adapters.opencode.writer import write
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from cli.containers_opencode import read_container, write_container
from eventstore.wire.codec import dump, parse

SAMPLES = Path(__file__).parent.parent / "samples"
NAME = {f"GIT_{who}_{what}": "relay@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SAMPLES.parents[1]), "GIT_CONFIG_GLOBAL": os.devnull, **NAME}
pytestmark = pytest.mark.skipif(not PROGRAM, reason="there is no opencode (npm opencode-ai): set TASUKI_OPENCODE")


@pytest.fixture
def opencode(tmp_path: Path) -> Iterator[OpenCode]:
    with opencode_in(tmp_path) as agent:
        yield agent


@pytest.fixture
def host(opencode: OpenCode, module_database: str) -> Iterator[Host]:
    """A hub, and the command line where OpenCode runs."""
    with hub_and_host(module_database, opencode.home) as host:
        yield host


def target_of(opencode: OpenCode) -> Target:
    return Target(cwd=str(opencode.work), now_ms=int(time.time() * 1000), provider="fake", model=MODEL)


def take(opencode: OpenCode, written: Written) -> str:
    """Import a session; return what OpenCode says."""
    file = opencode.home / "session.json"
    file.write_text(dump(written.records[0]), "utf-8")
    return opencode.run("import", str(file))


def resume(opencode: OpenCode, session_id: str, **more: str) -> list[dict[str, Any]]:
    """Go on with a session; return what the model was shown."""
    assert ANSWER in opencode.go_on(session_id, MARKER, **more)
    shown: list[dict[str, Any]] = opencode.model.conversation(MARKER)
    return shown


def export(opencode: OpenCode, session_id: str) -> Json:
    return parse(opencode.run("export", session_id))


def claude_code(path: Path) -> Session:
    return session_of(read_claude_code(path.read_bytes().splitlines(keepends=True)))


def shown_texts(shown: list[dict[str, Any]], role: str) -> str:
    """All that the model was shown in a role, without spaces: providers cut and join texts in their own ways."""
    contents = (message.get("content") for message in shown if message["role"] == role)
    return "".join(_text(content) for content in contents)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content)
    return "".join(content.split()) if isinstance(content, str) else ""


def assert_all_was_shown(shown: list[dict[str, Any]], document: Json) -> None:
    """Every live text, call and result of the document, as our reader finds them."""
    live = [message.body for message in read_document(parse(dump(document))).messages]
    assert live
    for role in ("user", "assistant", "tool"):
        there = shown_texts(shown, role)
        at = 0
        for message in live:
            if message["role"] != role or not _text(message["content"]) or message["metadata"].get("ignored"):
                continue
            found = there.find(_text(message["content"]), at)
            assert found >= 0, f"{role}: {str(message['content'])[:200]!r} was not shown, or in another order"
            at = found
    calls = [call for message in live for call in message.get("tool_calls", ())]
    seen = [call for message in shown for call in message.get("tool_calls") or ()]
    assert [call["function"]["name"] for call in seen] == [call["function"]["name"] for call in calls]
    assert [parse(call["function"]["arguments"]) for call in seen] == [parse(call["function"]["arguments"]) for call in calls]
    answered = [message["tool_call_id"] for message in shown if message["role"] == "tool"]
    assert sorted(answered) == sorted(call["id"] for call in seen), "every call has its result"


def assert_all_was_stored(document: Json, stored: Json) -> None:
    """Each message and part that we wrote is in OpenCode's own records, as we wrote it."""
    records = {record["info"]["id"]: record for record in stored["messages"]}
    for record in document["messages"]:
        told = records[record["info"]["id"]]["info"]
        assert {key: told.get(key) for key in record["info"]} == record["info"]
        theirs = {part["id"]: part for part in records[record["info"]["id"]]["parts"]}
        assert [theirs[part["id"]] for part in record["parts"]] == record["parts"]


def converted(agent: OpenCode, session: Session) -> Written:
    written = write(session, target_of(agent))
    assert problems(written.records, target_of(agent).now_ms) == []
    return written


@pytest.mark.parametrize("name", ["blocks", "parallel", "compaction"])
def test_a_session_of_claude_code_is_gone_on_with(opencode, name):
    written = converted(opencode, claude_code(SAMPLES / "claude_code" / f"{name}.jsonl"))
    assert f"Imported session: {written.session_id}" in take(opencode, written)
    assert_all_was_shown(resume(opencode, written.session_id), written.records[0])
    assert_all_was_stored(parse(dump(written.records[0])), export(opencode, written.session_id))


def test_every_claude_code_session_of_the_corpus_is_gone_on_with(opencode, corpus):
    files = sorted((corpus / "claude-code").glob("*.jsonl"))
    if not files:
        pytest.skip(f"no Claude Code transcripts in {corpus}")
    for file in files:
        written = converted(opencode, claude_code(file))
        take(opencode, written)
        assert_all_was_shown(resume(opencode, written.session_id), written.records[0])


def test_every_hermes_export_of_the_corpus_is_gone_on_with(opencode, corpus):
    files = sorted((corpus / "hermes").glob("export-*.jsonl"))
    if not files:
        pytest.skip(f"no exports of Hermes in {corpus}")
    for file in files:
        session = session_of(registry.READERS["hermes"].read(file.read_bytes().splitlines(keepends=True)))
        written = converted(opencode, session)
        take(opencode, written)
        assert_all_was_shown(resume(opencode, written.session_id), written.records[0])


def test_a_session_comes_home_and_is_gone_on_with(opencode):
    own = parse((SAMPLES / "opencode" / "turns.json").read_text("utf-8"))
    written = write(session_of(read_document(own)), Target())
    take(opencode, written)
    shown = resume(opencode, written.session_id)
    assert "Itloses21msabeat" in shown_texts(shown, "assistant")
    assert "beat1beat2" in shown_texts(shown, "tool")


def test_importing_again_adds_nothing_and_more_adds_what_is_new(opencode):
    session = claude_code(SAMPLES / "claude_code" / "parallel.jsonl")
    first = Session(session.meta, session.entries[:2])
    for part in (first, first, session, session):
        take(opencode, converted(opencode, part))
    written = converted(opencode, session)
    stored = export(opencode, written.session_id)
    assert [record["info"]["id"] for record in stored["messages"]] == [r["info"]["id"] for r in written.records[0]["messages"]]


def test_our_reading_of_the_database_is_what_opencode_exports(opencode):
    written = converted(opencode, claude_code(SAMPLES / "claude_code" / "blocks.jsonl"))
    take(opencode, written)
    resume(opencode, written.session_id)
    ours = read_container(opencode.database, written.session_id)
    assert ours.problems == []
    assert ours.document == export(opencode, written.session_id)


def test_what_opencode_said_goes_home_value_by_value(opencode):
    written = converted(opencode, claude_code(SAMPLES / "claude_code" / "parallel.jsonl"))
    take(opencode, written)
    resume(opencode, written.session_id)
    document = read_container(opencode.database, written.session_id).document
    home = write(session_of(read_document(document)), Target())
    assert home.records == (document,)
    assert home.session_id == written.session_id


def test_opencode_reads_a_database_that_we_made(opencode, tmp_path):
    written = converted(opencode, claude_code(SAMPLES / "claude_code" / "parallel.jsonl"))
    document = parse(dump(written.records[0]))
    assert write_container(tmp_path / "made.db", document) == []
    stored = parse(opencode.run("export", written.session_id, OPENCODE_DB=str(tmp_path / "made.db")))
    assert stored["messages"] == document["messages"]
    assert_all_was_shown(resume(opencode, written.session_id, OPENCODE_DB=str(tmp_path / "made.db")), document)


@pytest.mark.parametrize("is_new", [True, False], ids=["a store that we make", "a store that opencode made"])
@pytest.mark.parametrize("name", ["blocks", "parallel", "compaction"])
def test_a_session_pulled_from_a_hub_is_gone_on_with_by_its_own_command(opencode, host, name, is_new):
    if not is_new:
        take(opencode, converted(opencode, claude_code(SAMPLES.parent.parent / "cli" / "samples" / "relay-timer.jsonl")))
    session = host.pushed(SAMPLES / "claude_code" / f"{name}.jsonl", f"{name}-{is_new}")
    pull = ("pull", session, "--to", "opencode", "--install", "--cwd", opencode.work, "--model", f"fake/{MODEL}")
    told = host.json(*pull)
    document = read_container(opencode.database, told["native_session_id"]).document
    assert told["command"] == ["opencode", "-s", told["native_session_id"], "-m", f"fake/{MODEL}"]
    assert told["native_session_id"] in opencode.run("session", "list"), "it is in the project of its working directory"
    assert host.json(*pull)["was_there"] is True, "listing it is not going on with it"
    assert_all_was_shown(resume(opencode, told["native_session_id"]), document)
    assert_all_was_stored(document, export(opencode, told["native_session_id"]))
    host.refused("gone_on", "pull", session, "--to", "opencode", "--undo")


def test_undo_leaves_no_trace_in_a_store_that_opencode_made(opencode, host):
    take(opencode, converted(opencode, claude_code(SAMPLES / "claude_code" / "blocks.jsonl")))
    before = opencode.run("session", "list", "--format", "json")
    session = host.pushed(SAMPLES.parent.parent / "cli" / "samples" / "relay-timer.jsonl", "undone")
    told = host.json("pull", session, "--to", "opencode", "--install", "--cwd", opencode.work, "--model", f"fake/{MODEL}")
    assert told["native_session_id"] in opencode.run("session", "list", "--format", "json")
    host.json("pull", session, "--to", "opencode", "--undo")
    assert opencode.run("session", "list", "--format", "json") == before


def test_a_store_that_opencode_has_open_is_left_alone(opencode, host):
    take(opencode, converted(opencode, claude_code(SAMPLES / "claude_code" / "blocks.jsonl")))
    session = host.pushed(SAMPLES.parent.parent / "cli" / "samples" / "relay-timer.jsonl", "held")
    pull = ("pull", session, "--to", "opencode", "--install", "--cwd", opencode.work, "--model", f"fake/{MODEL}")
    with opencode.serving():
        host.refused("store_held", *pull)
    assert host.json(*pull)["was_there"] is False


def test_without_a_hub_a_session_goes_by_plain_git_and_a_second_turn_is_a_diff(opencode, corpus, tmp_path):
    exports = sorted((corpus / "hermes").glob("export-*.jsonl"))
    if not exports:
        pytest.skip(f"no exports of Hermes in {corpus}")
    repository, name = tmp_path / "sessions", "relay.jsonl"
    repository.mkdir()

    def run(*command: object) -> str:
        done = subprocess.run([*map(str, command)], cwd=repository, env=ENVIRONMENT, capture_output=True, text=True, check=True)
        return done.stdout

    def convert(*arguments: object) -> None:
        run(sys.executable, "-m", "cli.main", "convert", *arguments)

    run("git", "init", "-q")
    convert("--to", "messages", exports[0], name)
    run("git", "add", name)
    run("git", "commit", "-qm", "as Hermes left it")
    convert("--to", "opencode", "--cwd", opencode.work, "--model", f"fake/{MODEL}", name, tmp_path / "session.json")
    session = parse((tmp_path / "session.json").read_text("utf-8"))
    opencode.run("import", str(tmp_path / "session.json"))
    assert_all_was_shown(resume(opencode, session["info"]["id"]), session)

    for turn in ("as OpenCode has it", "a second turn"):
        (tmp_path / "again.json").write_text(dump(export(opencode, session["info"]["id"])), "utf-8")
        convert("--to", "messages", tmp_path / "again.json", name)
        if turn == "a second turn":
            break
        run("git", "commit", "-qam", turn)
        opencode.go_on(session["info"]["id"], "And now?")
    changed = [line for line in run("git", "diff", "-U0", name).splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    said = [line for line in changed if '"role"' in line]
    assert [line[0] for line in said] == ["+", "+"], "what was asked and answered, and no line of before"
    assert "And now?" in said[0]
    assert ANSWER in said[1]
