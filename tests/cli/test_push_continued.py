"""A session that was pulled into an agent and went on there: pushed again, only what is new is appended, where it came from."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cli.containers_hermes import write_database as write_hermes
from cli.containers_opencode import write_database as write_opencode
from eventstore.wire.codec import dump, parse

SAMPLE = Path(__file__).resolve().parents[2] / "cli" / "samples" / "relay-timer.jsonl"
TURNS = Path(__file__).parent.parent / "samples" / "opencode" / "turns.json"


def claude_code(record: Any, said: list[str]) -> list[bytes]:
    """The lines that Claude Code adds."""
    last = json.loads(next(line for line in reversed(record) if b'"uuid"' in line))
    lines, parent = [], last["uuid"]
    for at, text in enumerate(said):
        uuid = f"{abs(hash(text)) % 10**8:08d}-0000-4000-8000-{at:012d}"
        common = {name: last[name] for name in ("cwd", "sessionId", "version", "isSidechain", "userType")}
        message = {"role": "user", "content": text}
        new = common | {
            "parentUuid": parent,
            "type": "user",
            "message": message,
            "uuid": uuid,
            "timestamp": "2026-11-29T10:00:00.000Z",
        }
        lines.append(json.dumps(new).encode() + b"\n")
        parent = uuid
    return [*record, *lines]


def opencode(document: Any, said: list[str]) -> Any:
    """The document with what OpenCode adds."""
    session_id, messages = document["info"]["id"], [*document["messages"]]
    for at, text in enumerate(said):
        created = 1_795_946_400_000 + at * 1000
        message_id, owner = f"msg_{created * 4096 % 2**48:012x}{text:x<14.14}".replace(" ", "y"), {"sessionID": session_id}
        info = owner | {"id": message_id, "role": "user", "time": {"created": created}, "agent": "build"}
        info |= {"model": {"providerID": "fake", "modelID": "fake-model"}}
        part = owner | {"id": f"prt_{created * 4096 % 2**48:012x}{at:014d}", "messageID": message_id, "type": "text", "text": text}
        messages.append({"info": info, "parts": [part]})
    return parse(dump(document | {"messages": messages}))


def hermes(document: Any, said: list[str]) -> Any:
    """The export with the rows that Hermes adds."""
    rows = [*document["messages"]]
    empty = dict.fromkeys(rows[0])
    for at, text in enumerate(said):
        row = {"id": 9000 + at, "session_id": document["id"], "role": "user", "content": text, "timestamp": 1795946400.5 + at}
        rows.append(empty | row | {"observed": 0, "active": 1, "compacted": 0})
    return parse(dump(document | {"messages": rows}))


def written(rest, session_id: str, agent: str) -> Any:
    """What the hub gives out for an agent: its id of the session, and its lines, or its document."""
    told = rest.call("GET", f"/v1/sessions/{session_id}/export?to={agent}&cwd=/home/bob/relay&model=fake/fake-model")
    raw = told["files"][0]["content"].encode()
    return told["native_session_id"], raw.splitlines(keepends=True) if agent == "claude-code" else parse(raw.decode())


def put(agent: str, done: Any, said: list[str], folder: Path) -> Path:
    """The agent's file with what it added."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    native_id, record = done
    if agent == "claude-code":
        path = folder / f"{native_id}.jsonl"
        path.write_bytes(b"".join(claude_code(record, said)))
    elif agent == "opencode":
        path = folder / "opencode.db"
        assert write_opencode(path, opencode(record, said)) == []
    else:
        path = folder / "state.db"
        assert write_hermes(path, [hermes(record, said)]) == []
    return path


def contents(rest, session_id):
    return [message["content"] for message in rest.messages(session_id)]


PAIRS = [(source, agent) for source in (SAMPLE, TURNS) for agent in ("claude-code", "opencode", "hermes")]
FOREIGN = [pair for pair in PAIRS if pair not in ((SAMPLE, "claude-code"), (TURNS, "opencode"))]


@pytest.mark.parametrize(("source", "agent"), PAIRS, ids=lambda value: getattr(value, "stem", value))
def test_only_what_is_new_is_appended_where_it_came_from(cli, rest, project, tmp_path, source, agent):
    origin = cli.json("push", source, "--project", project)["session_id"]
    before = contents(rest, origin)
    done = written(rest, origin, agent)
    for said in (["Go on."], ["Go on.", "And on."]):
        answer = cli.json("push", put(agent, done, said, tmp_path / "store"), "--project", project)
        assert answer["session_id"] == origin
        assert contents(rest, origin) == [*before, *said]
        assert answer["appended"] == 1
    assert len(rest.sessions(project)) == 1


@pytest.mark.parametrize(("source", "agent"), PAIRS[::2], ids=lambda value: getattr(value, "stem", value))
def test_what_was_only_pulled_adds_nothing(cli, rest, project, tmp_path, source, agent):
    origin = cli.json("push", source, "--project", project)["session_id"]
    before = contents(rest, origin)
    answer = cli.json("push", put(agent, written(rest, origin, agent), [], tmp_path / "store"), "--project", project)
    assert (answer["session_id"], answer["appended"]) == (origin, 0)
    assert contents(rest, origin) == before
    assert len(rest.sessions(project)) == 1


@pytest.mark.parametrize(("source", "agent"), FOREIGN, ids=lambda value: getattr(value, "stem", value))
def test_where_the_hub_went_on_meanwhile_it_is_a_fork_at_the_common_prefix(cli, rest, project, tmp_path, source, agent):
    origin = cli.json("push", source, "--project", project)["session_id"]
    before = contents(rest, origin)
    done = written(rest, origin, agent)
    rest.append(origin, "Somebody else went on.")
    answer = cli.json("push", put(agent, done, ["Go on."], tmp_path / "store"), "--project", project)
    fork = answer["session_id"]
    assert contents(rest, origin) == [*before, "Somebody else went on."]
    assert fork != origin
    assert contents(rest, fork) == [*before, "Go on."]
    again = cli.json("push", put(agent, done, ["Go on.", "And on."], tmp_path / "store"), "--project", project)
    assert again["session_id"] == fork
    assert contents(rest, fork) == [*before, "Go on.", "And on."]
    assert len(rest.sessions(project)) == 2


@pytest.mark.parametrize(("source", "agent"), FOREIGN[:2], ids=lambda value: getattr(value, "stem", value))
def test_a_session_that_went_to_two_agents_in_turn_holds_each_message_once(cli, rest, project, tmp_path, source, agent):
    origin = cli.json("push", source, "--project", project)["session_id"]
    before = contents(rest, origin)
    cli.json("push", put(agent, written(rest, origin, agent), ["Go on."], tmp_path / "store"), "--project", project)
    other = next(name for name in ("hermes", "claude-code", "opencode") if name != agent)
    cli.json("push", put(other, written(rest, origin, other), ["Here too."], tmp_path / "other"), "--project", project)
    assert contents(rest, origin) == [*before, "Go on.", "Here too."]
    assert len(rest.sessions(project)) == 1
