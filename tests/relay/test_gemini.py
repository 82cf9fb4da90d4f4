"""The real Gemini CLI goes on with what we write: listed, resumed, and the model is shown all that was said before.

It runs in a home of its own, against a scripted model on this machine.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_gemini import PROGRAM, Gemini, gemini_in
from pulling import Host, hub_and_host
from real_agents import MARKER
from scripted_gemini import ANSWER

from adapters import registry
from adapters.conversion import Json
from adapters.gemini.log import fold
from adapters.gemini.reader import read
from adapters.gemini.records import is_context, read_file
from adapters.gemini.validator import problems
from adapters.gemini.writer import write
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written

SAMPLES = Path(__file__).parent.parent / "samples"
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
pytestmark = pytest.mark.skipif(not PROGRAM, reason="there is no gemini (npm @google/gemini-cli): set TASUKI_GEMINI")


@pytest.fixture
def gemini(tmp_path: Path) -> Iterator[Gemini]:
    with gemini_in(tmp_path) as agent:
        yield agent


@pytest.fixture
def host(gemini: Gemini, module_database: str) -> Iterator[Host]:
    """A hub, and the command line where Gemini CLI runs."""
    with hub_and_host(module_database, gemini.home) as host:
        yield host


def target_of(gemini: Gemini) -> Target:
    return Target(cwd=str(gemini.work), now_ms=int(time.time() * 1000))


def put(gemini: Gemini, lines: bytes, path: str) -> Path:
    """Put a session's file where the agent looks for it."""
    file = gemini.store / path
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parent.parent / ".project_root").write_text(str(gemini.work))
    file.write_bytes(lines)
    return file


def take(gemini: Gemini, written: Written) -> Path:
    return put(gemini, b"".join(written.records), written.path)


def resume(gemini: Gemini, session_id: str) -> list[Json]:
    """Go on with a session; return what the model was shown."""
    assert ANSWER in gemini.go_on(session_id, MARKER)
    shown: list[Json] = gemini.model.conversation(MARKER)
    return shown


def session_in(path: Path) -> Session:
    lines = path.read_bytes().splitlines(keepends=True)
    found = registry.detect(lines[:64])
    assert found is not None
    return session_of(registry.READERS[found.agent].read(lines))


def converted(agent: Gemini, session: Session) -> Written:
    written = write(session, target_of(agent))
    assert problems(written.records) == []
    return written


def shown_parts(contents: list[Json]) -> list[Any]:
    """What the model was shown, part by part: texts, calls and results with whose they are."""
    return [_part(content["role"], part) for content in contents for part in content["parts"]]


def live_parts(lines: list[bytes]) -> list[Any]:
    """What it has to be shown of a log: in the order in which the agent sends it."""
    parts: list[Any] = []
    for record in (live.record for live in fold(read_file(lines).lines).live):
        content = record["content"] if isinstance(record["content"], list) else [{"text": record["content"]}]
        if record["type"] == "user" and not is_context(record):
            parts += [_part("user", part) for part in content]
        elif record["type"] == "gemini":
            calls = record.get("toolCalls", ())
            parts += [_part("model", part) for part in content if part.get("text") and not part.get("thought")]
            parts += [_part("model", part) for part in content if "functionCall" in part]
            parts += [["call", call["name"], _plain(call["args"])] for call in calls]
            parts += [_part("user", part) for call in calls for part in call.get("result") or ()]
    return parts


def _part(role: str, part: Json) -> Any:
    if "functionCall" in part:
        return ["call", part["functionCall"]["name"], _plain(part["functionCall"]["args"])]
    if "functionResponse" in part:
        call_id = part["functionResponse"]["id"].rpartition("__")[2]  # its own ids the agent sends without the tool's name
        return ["result", call_id, _plain(part["functionResponse"]["response"])]
    return [role, part.get("text") or part.get("inlineData", {}).get("data")]


def _plain(value: Any) -> Any:
    """As JavaScript has it: numbers are doubles."""
    from eventstore.wire.codec import dump

    return json.loads(dump(value), parse_int=float, parse_float=float)


def assert_all_was_shown(contents: list[Json], lines: list[bytes]) -> None:
    """Every live part, in its order; results may be sorted by the agent within their turn."""
    shown, wanted = shown_parts(contents), live_parts(lines)
    assert wanted
    assert [part for part in wanted if part not in shown] == []
    for kinds in (("user", "model", "call"), ("result",)):
        there = iter(part for part in shown if part[0] in kinds)
        assert [part for part in wanted if part[0] in kinds and part not in there] == [], "in another order"
    calls = [part["functionCall"]["id"] for content in contents for part in content["parts"] if "functionCall" in part]
    results = [part["functionResponse"]["id"] for content in contents for part in content["parts"] if "functionResponse" in part]
    assert set(results) == set(calls)
    assert "lost due to context management" not in json.dumps(contents)


SOURCES = ["claude_code/blocks.jsonl", "claude_code/parallel.jsonl", "claude_code/compaction.jsonl", "opencode/turns.json"]


@pytest.mark.parametrize("name", SOURCES)
def test_a_session_of_another_agent_is_gone_on_with(gemini, name):
    written = converted(gemini, session_in(SAMPLES / name))
    take(gemini, written)
    assert written.session_id in gemini.run("--list-sessions")
    assert_all_was_shown(resume(gemini, written.session_id), list(written.records))


def test_every_session_of_the_corpus_is_gone_on_with_and_grows(gemini, corpus):
    files = [path for folder in ("claude-code", "hermes", "opencode") for path in sorted((corpus / folder).glob("*.json*"))]
    if not files:
        pytest.skip(f"no sessions of other agents in {corpus}")
    for path in files:
        session = session_in(path)
        if not session.messages:
            continue
        written = converted(gemini, session)
        file = take(gemini, written)
        assert_all_was_shown(resume(gemini, written.session_id), list(written.records))
        before, after = read(written.records), read(file.read_bytes().splitlines(keepends=True))
        names = [message.append_id for message in before.messages]
        assert [message.append_id for message in after.messages if message.append_id in names] == names, path.name
        assert [message.body["content"] for message in after.messages][-2:] == [MARKER, ANSWER]


@pytest.mark.parametrize("name", ["turns", "rewound", "compressed", "resumed"])
def test_a_session_of_gemini_goes_home_and_on(gemini, name):
    written = write(session_in(SAMPLES / "gemini" / f"{name}.jsonl"), Target(cwd=str(gemini.work)))
    take(gemini, written)
    contents = resume(gemini, written.session_id)
    if name != "resumed":  # of that the agent itself passes over what begins as a command does
        assert_all_was_shown(contents, list(written.records))
    assert ("ZEBRA-42" in json.dumps(contents)) is True


def test_what_others_said_behind_and_between_is_shown(gemini):
    began = session_in(SAMPLES / "gemini" / "turns.jsonl")
    more = {"role": "user", "content": "Between, from another agent.", "append_id": "m1"}
    entries = (*began.messages[:2], more, *began.messages[2:], {**more, "content": "Behind.", "append_id": "m2"}, *began.natives)
    written = converted(gemini, Session(began.meta, entries))
    take(gemini, written)
    assert_all_was_shown(resume(gemini, written.session_id), list(written.records))


def test_what_the_agent_would_pass_over_is_written_so_that_it_is_shown(gemini):
    said = ["/tmp is full", "? is a wildcard", "one\u2028two\u2029three", "a NUL \0 and half \ud800", "<session_context>mine"]
    picture = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]
    entries = tuple({"role": "user", "content": text, "append_id": f"m{at}"} for at, text in enumerate([*said, picture]))
    written = converted(gemini, Session({"agent_source": "other", "native_session_id": "s"}, entries))
    take(gemini, written)
    contents = resume(gemini, written.session_id)
    assert_all_was_shown(contents, list(written.records))
    texts = [part.get("text", "") for content in contents for part in content["parts"]]
    for text in said:
        assert any(text.replace("\ud800", "\ufffd") in there for there in texts), text


def test_it_passes_over_what_the_validator_says_it_does(gemini):
    """The facts that the validator and the writer rest on."""
    sound = converted(gemini, Session({"agent_source": "other"}, ({"role": "user", "content": "sound", "append_id": "m"},)))
    header, line = (json.loads(record) for record in sound.records)
    odd = [
        line | {"id": "a", "content": [{"text": "/passed over"}]},
        line | {"id": "b", "content": [{"text": " \n?passed over"}]},
        line | {"id": "d", "content": [{"text": "taken back"}]},
        {"$rewindTo": "d"},
        {"unknown": 1},
    ]
    cut = json.dumps(line | {"id": "c", "content": [{"text": "cut in two"}]}).replace('"id": ', '"id":\r').encode() + b"\n"
    lines = [json.dumps(record).encode() + b"\n" for record in (header, line, *odd)] + [cut, b"torn {\n"]
    told = problems(lines)
    assert [problem.partition(": ")[2] for problem in told] == [
        "a line end inside it: both halves are passed over",
        "not JSON: passed over",
        "no record that is known: passed over",
    ]
    put(gemini, b"".join(lines), sound.path)
    shown = json.dumps(resume(gemini, sound.session_id))
    assert "sound" in shown
    assert not [text for text in ("passed over", "cut in two", "taken back") if text in shown]


def test_what_it_writes_itself_is_read_and_never_has_to_change(gemini):
    """Calls in parallel, one of a tool that is not there; then a resume, a compression, and a resume after it."""
    gemini.model.calls = [{"name": "list_directory", "args": {"dir_path": "."}}, {"name": "no_such_tool", "args": {}}]
    gemini.run("-p", "Look around, runner.")
    (file,) = (gemini.store / "tmp").glob("*/chats/session-*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    first = read(lines)
    for end in range(len(lines)):  # what a follower has is what a push gives, and it stays
        told = read(lines[:end]).messages
        assert read(lines[:end], is_final=False).messages == told == first.messages[: len(told)]
    roles = [message.body["role"] for message in first.messages]
    assert roles == ["user", "user", "assistant", "assistant", "tool", "tool", "assistant"]
    assert [message.body["metadata"].get("is_error") for message in first.messages if message.body["role"] == "tool"] == [
        False,
        True,
    ]
    resume(gemini, first.meta["native_session_id"])
    second = read(file.read_bytes().splitlines(keepends=True))
    assert [message.body for message in second.messages][: len(roles)] == [message.body for message in first.messages]
    gemini.settings(model={"compressionThreshold": 0.00001})
    gemini.model.prompt_tokens = 900_000
    gemini.run("--resume", "latest", "-p", "And now in short.")
    third = read(file.read_bytes().splitlines(keepends=True))
    summaries = [message.body["content"] for message in third.messages if "compaction" in message.body["metadata"]]
    assert [text[:16] for text in summaries] == ["<state_snapshot>"]
    assert "compacted" in third.off_branch.values()
    home = write(session_of(third), Target())
    assert [json.loads(line) for line in home.records] == [json.loads(line) for line in file.read_bytes().splitlines()]


@pytest.mark.parametrize("is_new", [True, False], ids=["a project that it has not seen", "a project of its own"])
@pytest.mark.parametrize("name", ["blocks", "parallel"])
def test_a_session_pulled_from_a_hub_is_gone_on_with_by_its_own_command_and_pushed_back(gemini, host, name, is_new):
    """The samples are of months ago: without more the agent would delete them when it starts."""
    if not is_new:
        gemini.run("-p", "Hello.")
    session = host.pushed(SAMPLES / "claude_code" / f"{name}.jsonl", f"{name}-{is_new}")
    pull = ("pull", session, "--to", "gemini", "--install", "--cwd", gemini.work)
    told = host.json(*pull)
    assert told["command"] == ["gemini", "--resume", told["native_session_id"]]
    assert host.json(*pull)["was_there"] is True
    (file,) = gemini.store.glob(f"tmp/*/chats/session-*-{told['native_session_id'][:8]}.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    assert_all_was_shown(resume(gemini, told["native_session_id"]), lines)
    host.refused("gone_on", "pull", session, "--to", "gemini", "--undo")
    back = host.json("push", told["native_session_id"], "--agent", "gemini", "--project", f"{name}-{is_new}")
    assert (back["session_id"], back["skipped"]) == (session, 0)
    out = gemini.home / "back.jsonl"
    host.json("pull", session, "--to", "messages", "-o", out)
    said = [line for line in map(json.loads, out.read_text("utf-8").splitlines()) if "role" in line]
    new = [
        line["content"] for line in said if line["metadata"]["agent_source"] == "gemini" and line["metadata"]["origin"] != "harness"
    ]
    assert new == [MARKER, ANSWER]


def test_a_session_of_gemini_of_long_ago_is_not_deleted_when_it_goes_home(gemini, host):
    old = (SAMPLES / "gemini" / "turns.jsonl").read_text("utf-8").replace("2026-11-30T", "2020-11-30T")
    (gemini.home / "old.jsonl").write_text(old, "utf-8")
    session = host.pushed(gemini.home / "old.jsonl", "old")
    told = host.json("pull", session, "--to", "gemini", "--install", "--cwd", gemini.work)
    (file,) = gemini.store.glob("tmp/*/chats/*.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    assert_all_was_shown(resume(gemini, told["native_session_id"]), lines)
    assert file.exists()
