"""The real Codex goes on with what we write: resumed by its own command, and its model is sent all that was said before.

It runs in a home of its own, against a scripted model on this machine.
"""

import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_codex import PROGRAM, Codex, codex_in
from pulling import Host, hub_and_host
from real_agents import MARKER
from rollouts import THREAD, assistant, call, compacted, event, item, meta, result, rollout, user
from scripted_model import ANSWER

from adapters import registry
from adapters.codex.foreign import SHOWN_BYTES_MAX
from adapters.codex.live import history_of
from adapters.codex.reader import read
from adapters.codex.records import lines_of
from adapters.codex.validator import problems
from adapters.codex.writer import write
from adapters.conversion import Json
from adapters.registry import READERS
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written

SAMPLES = Path(__file__).parent.parent / "samples"
FILES = sorted(path for path in SAMPLES.rglob("*") if path.suffix in (".jsonl", ".json") and not path.name.startswith("agent-"))
pytestmark = pytest.mark.skipif(not PROGRAM, reason="there is no codex (npm @openai/codex): set TASUKI_CODEX")


@pytest.fixture
def codex(tmp_path: Path) -> Iterator[Codex]:
    with codex_in(tmp_path) as agent:
        yield agent


@pytest.fixture
def host(database: str, codex: Codex) -> Iterator[Host]:
    with hub_and_host(database, codex.home) as host:
        yield host


def target_of(codex: Codex) -> Target:
    return Target(cwd=str(codex.work), now_ms=int(time.time() * 1000))


def put(codex: Codex, written: Written) -> Path:
    """Put a session where Codex looks for its own."""
    path = codex.store / written.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(written.records))
    return path


def resume(codex: Codex, session_id: str) -> list[Json]:
    """Go on with a session; return what of its past the model was sent: less what the program puts in for every turn."""
    assert ANSWER in codex.go_on(session_id, MARKER)
    return [bare(item) for item in codex.model.items(MARKER)[:-1] if not is_put_in(item)]


def is_put_in(item: Json) -> bool:
    texts = [part.get("text", "") for part in item.get("content") or () if isinstance(part, dict)]
    return item.get("role") == "developer" or any(text.startswith("<environment_context>") for text in texts)


def bare(item: Any) -> Json:
    """An item without ids and what is nothing, which the program leaves out or puts in."""
    return {name: value for name, value in item.items() if name not in ("id", "status", "phase") and value is not None}


def live(records: tuple[bytes, ...]) -> list[Json]:
    return [bare(unit.item) for unit in history_of(lines_of(records)).live if not is_put_in(unit.item)]


def cut_as(item: Json, shown: Json) -> Json:
    """The item, its long result cut where the program itself cut it."""
    whole, part = item.get("output"), shown.get("output")
    cut = re.search(r"…(\d+) (?:chars|tokens) truncated…", part) if isinstance(part, str) else None
    if not cut or not isinstance(whole, str) or len(whole.encode()) <= SHOWN_BYTES_MAX:
        return item
    begin, end = whole[: cut.start()], whole[len(whole) - len(shown["output"]) + cut.end() :]
    return item | {"output": begin + cut[0] + end}


def written_of(agent: Codex, lines: list[bytes]) -> Written:
    found = registry.detect(lines[:64])
    assert found is not None
    return registry.write("codex", session_of(READERS[found.agent].read(lines)), target_of(agent))


def assert_gone_on_with(codex: Codex, written: Written) -> None:
    """The model was sent every live item that we wrote, as we wrote it, in its order; and the file went on behind our lines."""
    path = put(codex, written)
    assert live(written.records)
    shown, ours = resume(codex, written.session_id), live(written.records)
    assert [cut_as(item, other) for item, other in zip(ours, shown, strict=True)] == shown
    grown = path.read_bytes().splitlines(keepends=True)
    assert tuple(grown[: len(written.records)]) == written.records
    said = [message.body["content"] for message in read(grown).messages if message.body["metadata"]["origin"] != "harness"]
    assert said[-2:] == [MARKER, ANSWER]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_session_of_another_agent_is_gone_on_with(codex, path):
    written = written_of(codex, path.read_bytes().splitlines(keepends=True))
    if problems(written.records) == ["nothing was said"]:
        assert not read(written.records).messages
        return
    assert_gone_on_with(codex, written)


def test_every_session_of_the_corpus_is_gone_on_with(codex, corpus):
    paths = [path for path in sorted(corpus.rglob("*")) if path.suffix in (".jsonl", ".json")]
    files = [path.read_bytes().splitlines(keepends=True) for path in paths]
    done = 0
    for lines in files:
        found = registry.detect(lines[:64])
        if found is None or found.agent == "codex" or found.agent not in READERS:
            continue
        written = registry.write("codex", session_of(READERS[found.agent].read(lines)), target_of(codex))
        if problems(written.records):
            continue  # everything in it was taken back
        assert_gone_on_with(codex, written)
        done += 1
    assert done >= 8


def test_a_session_of_codex_goes_home_and_on_at_the_provider_that_is_there(codex, corpus):
    [path] = (corpus / "codex").glob("rollout-2026-11-*.jsonl")
    session = session_of(read(path.read_bytes().splitlines(keepends=True)))
    written = write(session, replace(target_of(codex), provider="scripted"))
    put(codex, written)
    shown = resume(codex, written.session_id)
    assert [bare_of(item) for item in shown] == [bare_of(item) for item in live(written.records)]
    assert "encrypted_content" not in str(shown)


def bare_of(item: Json) -> Json:
    """What an item of Codex's own says, less the notes that it keeps of it."""
    return {name: item[name] for name in ("type", "role", "call_id", "name", "arguments", "output") if name in item}


def test_it_refuses_a_session_of_a_provider_that_is_not_there(codex):
    put(codex, write(session_of(read(rollout(meta(model_provider="elsewhere"), user("Hi.")))), Target()))
    done = codex.run("resume", THREAD, MARKER)
    assert done.returncode != 0
    assert "provider" in done.stderr
    put(codex, write(session_of(read(rollout(meta(model_provider="elsewhere"), user("Hi.")))), Target(provider="scripted")))
    assert [part["content"][0]["text"] for part in resume(codex, THREAD)] == ["Hi."]


def test_what_it_makes_of_results_and_calls_that_stand_alone_is_what_the_validator_says(codex):
    lines = rollout(meta(model_provider=None), user("Go."), result("c9"), call("c1"), user("On."))
    assert problems(lines) == ["call c1: no result; the agent makes one up", "result c9: answers no call, and is dropped"]
    put(codex, write(session_of(read(lines)), Target()))
    shown = resume(codex, THREAD)
    assert [(item["type"], item.get("output")) for item in shown] == [
        ("message", None),
        ("function_call", None),
        ("function_call_output", "aborted"),
        ("message", None),
    ]


def test_an_id_that_is_no_uuid_starts_a_new_session(codex):
    lines = rollout(meta(id="my-session", model_provider=None), user("Before."))
    path = codex.store / "sessions/2026/11/29/rollout-2026-11-29T10-00-00-my-session.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(lines))
    assert resume(codex, "my-session") == []
    written = write(session_of(read(lines)), Target(session_id="my-session"))
    put(codex, written)
    assert [item["content"][0]["text"] for item in resume(codex, written.session_id)] == ["Before."]


def turn(number: int, *lines: Json) -> list[Json]:
    name = f"00000000-0000-7000-8000-{number:012d}"
    return [event("task_started", turn_id=name, model_context_window=1000), *lines, event("task_complete", turn_id=name)]


def back(turns: int) -> Json:
    return event("thread_rolled_back", num_turns=turns)


SUM = compacted("S", user("S"))
BEGUN = [*turn(1, user("1"), assistant("2")), *turn(2, user("3"), assistant("4"))]
HISTORIES = {
    "a summary with a history": [user("1"), assistant("2"), compacted("S", user("1"), user("S")), user("3"), assistant("4")],
    "a summary without one": [user("1"), assistant("2"), compacted("S"), user("3")],
    "a turn taken back": [*BEGUN, back(1), *turn(3, user("5"))],
    "turns taken back twice": [*BEGUN, back(1), *turn(3, user("5")), back(1), *turn(4, user("6"))],
    "all turns taken back": [*BEGUN, back(7), *turn(3, user("5"))],
    "one of two prompts of a turn taken back": [
        *BEGUN,
        *turn(3, user("5"), assistant("6"), user("7")),
        back(1),
        *turn(4, user("8")),
    ],
    "a turn since a summary taken back": [*BEGUN, *turn(3, SUM), *turn(4, user("5"), assistant("6")), back(1), *turn(5, user("7"))],
    "turns beyond a summary taken back": [*BEGUN, *turn(3, SUM), *turn(4, user("5"), assistant("6")), back(2), *turn(5, user("7"))],
    "a turn with a summary in it taken back": [*BEGUN, *turn(3, user("5"), SUM, assistant("6")), back(1), *turn(4, user("7"))],
    "a turn that begins with a summary taken back": [*BEGUN, *turn(3, SUM, user("5")), back(1), *turn(4, user("6"))],
    "an unknown line and a torn one": [user("1"), {"timestamp": "x", "type": "new", "payload": {}}, assistant("2")],
    "thinking": [user("1"), item("reasoning", summary=[], encrypted_content="gAAA"), assistant("2")],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_what_is_live_is_what_it_sends_to_its_model(codex, name):
    lines = rollout(meta(model_provider=None), *HISTORIES[name])
    put(codex, Written("codex", "", THREAD, tuple(lines), {}, f"sessions/2026/11/29/rollout-2026-11-29T10-00-00-{THREAD}.jsonl"))
    shown = resume(codex, THREAD)
    messages = [message.body for message in read(lines).messages]
    assert [said(item) for item in shown] == [message["content"] or message["thinking"]["items"][0]["data"] for message in messages]


def said(item: Json) -> str:
    return str(item.get("encrypted_content") or item["content"][0]["text"])


def test_others_go_on_with_a_session_of_codex_and_it_comes_home(codex):
    began = session_of(read(rollout(meta(model_provider=None), user("1"), call("c1"), result("c1"))))
    more = (
        {"role": "assistant", "content": "from elsewhere", "append_id": "a"},
        {"role": "user", "content": "and here", "append_id": "b"},
    )
    assert_gone_on_with(codex, write(Session(began.meta, (*began.entries, *more)), target_of(codex)))


def test_a_session_pulled_from_a_hub_is_gone_on_with_by_its_own_command(codex, module_database):
    with hub_and_host(module_database, codex.home) as host:
        session = host.pushed(SAMPLES / "claude_code" / "parallel.jsonl", "relay")
        pull = ("pull", session, "--to", "codex")
        told = host.json(*pull, "--install", "--cwd", codex.work)
        (path,) = codex.store.rglob(f"rollout-*-{told['native_session_id']}.jsonl")
        ours = live(tuple(path.read_bytes().splitlines(keepends=True)))
        assert ours
        shown = resume(codex, told["native_session_id"])
        assert [cut_as(item, other) for item, other in zip(ours, shown, strict=True)] == shown
        host.refused("gone_on", *pull, "--undo")


@pytest.mark.parametrize("name", ["claude_code/parallel.jsonl", "opencode/turns.json", "gemini/turns.jsonl"])
def test_a_session_pulled_from_a_hub_is_gone_on_with_by_its_own_command_and_comes_back(codex, host, name, tmp_path):
    file = Path(shutil.copy(SAMPLES / name, tmp_path))  # less the files of sub-agents beside it
    session = host.pushed(file, "relay")
    told = host.json("pull", session, "--to", "codex", "--install", "--cwd", codex.work)
    assert told["command"] == ["codex", "resume", told["native_session_id"]]
    [path] = codex.store.rglob("rollout-*.jsonl")
    records = tuple(path.read_bytes().splitlines(keepends=True))
    assert resume(codex, told["native_session_id"]) == live(records)
    host.refused("gone_on", "pull", session, "--to", "codex", "--undo")
    back = host.json("push", told["native_session_id"], "--project", "relay")
    assert back["session_id"] == session
    assert back["appended"] == len(read(path.read_bytes().splitlines(keepends=True)).messages) - len(read(records).messages)
    assert host.json("push", told["native_session_id"], "--project", "relay")["appended"] == 0
