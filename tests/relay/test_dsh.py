"""The real DeepSeek Harness goes on with what we write: put in its store, resumed, and the model is shown all that was said before.

It runs in a home of its own, against a scripted model on this machine.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_dsh import PROGRAM, Dsh, dsh_in
from pulling import hub_and_host
from real_agents import MARKER
from scripted_model import ANSWER

from adapters import registry
from adapters.conversion import Json
from adapters.dsh.reader import read
from adapters.dsh.records import spot_of
from adapters.dsh.validator import problems
from adapters.dsh.writer import write
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from cli.containers_dsh import logs_in, packed, read_lines
from cli.install_dsh import DshStore
from cli.zstd_frames import pack
from eventstore.errors import InvalidJson
from eventstore.wire.codec import dump, parse

SAMPLES = Path(__file__).parent.parent / "samples"
OTHERS = ("claude-code", "hermes", "opencode")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="there is no dsh (PyPI deepseek-harness-sdk): set TASUKI_DSH")


@pytest.fixture
def dsh(tmp_path: Path) -> Iterator[Dsh]:
    with dsh_in(tmp_path) as agent:
        yield agent


def target_of(dsh: Dsh) -> Target:
    return Target(cwd=str(dsh.work), now_ms=int(time.time() * 1000), version="4")


def resume(dsh: Dsh, session_id: str) -> list[dict[str, Any]]:
    """Go on with a session, twice: what the agent adds the first time must not keep it from the second. What was shown then."""
    for _ in range(2):
        assert ANSWER in dsh.go_on(session_id, MARKER)
    return next(body["messages"] for body in reversed(dsh.requests) if MARKER in dump(body["messages"]))


def session_in(path: Path) -> Session:
    lines = path.read_bytes().splitlines(keepends=True)
    found = registry.detect(lines[: registry.LINES_LOOKED_AT])
    assert found, path
    return session_of(registry.READERS[found.agent].read(lines))


def blocks_of(messages: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    contents = (message["content"] for message in messages if isinstance(message["content"], list))
    return [block for content in contents for block in content if block["type"] == kind]


def value(arguments: str) -> Any:
    """What a call's arguments mean, None for what is no JSON."""
    try:
        return parse(arguments)
    except InvalidJson:
        return None


def assert_all_was_shown(shown: list[dict[str, Any]], written: Written) -> None:
    """Every message of the surface that we wrote, its calls and results, in their order."""
    events = [parse(line.decode()) for line in written.records[1:]]
    live = {message.line for message in read(written.records).messages}
    ours = [event for number, event in enumerate(events, 2) if number in live]
    assert ours
    spots = [(event["type"], spot) for event in ours if event["type"] != "system/message" and (spot := spot_of(event))]
    texts = [block["text"] for _, spot in spots for block in spot.content if block["type"] == "text"]
    there = dump([shown])
    at = 0
    for text in texts:
        found = there.find(dump(text.strip())[1:-1], at)
        assert found >= 0, f"{text[:200]!r} was not shown, or in another order"
        at = found
    calls = [block for _, spot in spots for block in spot.content if block["type"] == "tool-call"]
    seen = blocks_of(shown, "tool_use")
    assert [(call["id"], call["name"]) for call in seen] == [(call["id"], call["name"]) for call in calls]
    for call, theirs in zip(calls, seen, strict=True):
        if isinstance(meant := value(call["arguments"]), dict):  # what is no object, the agent mends for the model
            assert parse(dump(theirs["input"])) == meant
    results = [spot.message["toolCallId"] for kind, spot in spots if kind == "tool/result"]
    assert [result["tool_use_id"] for result in blocks_of(shown, "tool_result")] == results


def put(agent: Dsh, session: Session) -> Written:
    written = write(session, target_of(agent))
    assert problems(written.records) == []
    install(agent, written)
    return written


def install(agent: Dsh, written: Written) -> None:
    with DshStore(agent.store).held(is_to_write=True) as hold:
        hold.put(hold.plan(written), None)


@pytest.mark.parametrize("path", [*sorted(SAMPLES.glob("claude_code/[!ao]*.jsonl")), SAMPLES / "opencode" / "turns.json"], ids=str)
def test_a_session_of_another_agent_is_gone_on_with(dsh, path):
    written = put(dsh, session_in(path))
    assert_all_was_shown(resume(dsh, written.session_id), written)


def test_every_session_of_the_corpus_is_gone_on_with_and_comes_back(dsh, corpus):
    files = [path for agent in OTHERS for path in sorted((corpus / agent).glob("*.json*"))]
    sessions = [session for path in files if (session := session_in(path)).messages]
    if not sessions:
        pytest.skip(f"no sessions of other agents in {corpus}")
    all_written = {(written := put(dsh, session)).session_id: written for session in sessions}
    for session_id, written in all_written.items():
        assert_all_was_shown(resume(dsh, session_id), written)
        (log,) = (listed.path for listed in logs_in(dsh.store) if listed.session_id == session_id)
        stored = read_lines(log)
        assert stored[: len(written.records)] == list(written.records), "lines that we wrote stay as they are"
        assert problems(stored) == []
        names = [message.append_id for message in read(written.records).messages]
        theirs = read(stored).messages
        assert [message.append_id for message in theirs][: len(names)] == names
        assert [message.body["content"] for message in theirs if message.body["role"] == "assistant"][-1] == ANSWER


def test_logs_of_its_own_go_home_and_on_the_old_ones_too(dsh, corpus):
    files = sorted((corpus / "dsh").glob("*.jsonl"))
    if not files:
        pytest.skip(f"no logs of DeepSeek Harness in {corpus}")
    for at, path in enumerate(files):
        session = session_in(path)
        if "subagent" in session.meta:
            continue
        target = Target(cwd=str(dsh.work), now_ms=int(time.time() * 1000), version="4", session_id=f"session-{at}")
        written = write(session, target)
        install(dsh, written)
        assert_all_was_shown(resume(dsh, written.session_id), written)


def test_what_goes_wrong_in_real_sessions_is_gone_on_with(dsh):
    said: list[Json] = [
        {"role": "assistant", "content": "first"},
        {"role": "user", "content": "go \0 \ud800"},
        {
            "role": "assistant",
            "content": " ",
            "tool_calls": [call("a", "{"), call("a", "[1]"), call("", "null"), call("d d", "{}")],
        },
        {"role": "tool", "tool_call_id": "a", "content": ""},
        {"role": "tool", "tool_call_id": "a", "content": "x" * 300_000},
        {"role": "tool", "tool_call_id": "nobody", "content": "lost"},
        {"role": "assistant", "content": None, "thinking": {"items": [{"text": "open"}, {"text": "closed", "signature": "s"}]}},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "assistant", "content": None, "tool_calls": [call("z", "{}")]},
    ]
    entries = tuple(parse(dump({"append_id": f"m{at}", **message})) for at, message in enumerate(said))
    written = put(dsh, Session({"agent_source": "other", "title": "T", "cwd": "/elsewhere"}, entries))
    assert_all_was_shown(resume(dsh, written.session_id), written)


def call(name: str, arguments: str) -> Json:
    return {"id": name, "type": "function", "function": {"name": "some tool", "arguments": arguments}}


def test_others_went_on_with_its_session_and_it_comes_home(dsh):
    began = put(dsh, session_in(SAMPLES / "claude_code" / "parallel.jsonl"))
    resume(dsh, began.session_id)
    (log,) = (listed.path for listed in logs_in(dsh.store))
    own = session_of(read(read_lines(log)))
    more = [
        {"role": "user", "append_id": "x1", "content": "Elsewhere."},
        {"role": "assistant", "append_id": "x2", "content": "Here."},
    ]
    written = write(Session(own.meta, (*own.entries, *more)), target_of(dsh))
    assert problems(written.records) == []
    log.write_bytes(packed(written.records))
    shown = resume(dsh, began.session_id)
    assert "Elsewhere." in dump(shown)
    assert "Here." in dump(shown)


def refused(agent: Dsh, content: bytes, written: Written, path: str = "") -> bool:
    log = agent.store / (path or written.path)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(content)
    before = len(agent.model.requests)
    done = agent.run(written.session_id, MARKER)
    return done.returncode != 0 and ANSWER not in done.stdout and len(agent.model.requests) == before


@pytest.mark.parametrize(
    "fault", ["one frame", "no stream", "no start of a call", "open call", "unknown event", "elsewhere", "plain"]
)
def test_what_our_validator_finds_the_agent_refuses(dsh, fault):
    """Each of these would hide the session, some of them every other one too: the reason why a log is checked first."""
    written = write(session_in(SAMPLES / "claude_code" / "parallel.jsonl"), target_of(dsh))
    lines = list(written.records)
    if fault == "one frame":
        assert refused(dsh, pack([b"".join(lines)]), written)
        return
    if fault == "plain":  # a plain log in a compressed store: the sound one beside it cannot be opened any more
        sound = put(dsh, session_in(SAMPLES / "claude_code" / "blocks.jsonl"))
        assert refused(dsh, b"".join(lines), written, written.path.removesuffix(".zstd"))
        assert ANSWER not in dsh.run(sound.session_id, MARKER).stdout
        return
    if fault == "elsewhere":
        assert refused(dsh, packed(lines), written, written.path.replace("/--", "/--x"))
        return
    events = [parse(line.decode()) for line in lines]
    drop = {"no start of a call": "tool/call", "open call": "tool/result"}.get(fault, "")
    events = [event for event in events if event["type"] != drop]
    for at, event in enumerate(events[1:]):
        event["seq"] = at
        event.pop("sourceEventSeqs", None)
        if fault == "no stream":
            event["data"].pop("stream", None)
        if fault == "unknown event":
            event.pop("ignorable", None)
    lines = [dump(event).encode() + b"\n" for event in events]
    assert problems(lines) != []
    assert refused(dsh, packed(lines), written)


def test_a_session_pulled_from_a_hub_is_gone_on_with_by_its_own_command(dsh, module_database):
    with hub_and_host(module_database, dsh.home) as host:
        session = host.pushed(SAMPLES / "claude_code" / "parallel.jsonl", "relay")
        pull = ("pull", session, "--to", "dsh")
        told = host.json(*pull, "--install", "--cwd", dsh.work)
        log = next(log for log in logs_in(dsh.store) if log.session_id == told["native_session_id"])
        written = Written("dsh", "4", told["native_session_id"], tuple(read_lines(log.path)), {})
        assert_all_was_shown(resume(dsh, told["native_session_id"]), written)
        host.refused("gone_on", *pull, "--undo")
