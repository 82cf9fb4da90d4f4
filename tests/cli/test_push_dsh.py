"""A session of DeepSeek Harness that has grown, or that others went on with, pushed again: what is new, to where it came from."""

import json
from pathlib import Path
from typing import Any

import pytest
from hubs import HubProcess

from adapters.dsh.writer import write
from adapters.session import Session
from adapters.target import Target
from cli.containers_dsh import packed, read_lines


@pytest.fixture(scope="module")
def hub(hub_without_redaction: HubProcess) -> HubProcess:
    return hub_without_redaction


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def log_of(work: Path) -> list[bytes]:
    """A log as the agent's own: its system prompt at the head."""
    said = ({"role": "user", "append_id": "m0", "content": "go"}, {"role": "assistant", "append_id": "m1", "content": "gone"})
    lines = write(Session({"agent_source": "dsh"}, said), Target(cwd=str(work), session_id="session-1")).records
    (head,) = (json.loads(line)["data"]["message"]["id"] for line in lines if b"system/message" in line)
    return [line.replace(head.encode(), b"own-prompt") for line in lines]


def grown(lines: list[bytes], turn: int, prompt: str, answer: str) -> list[bytes]:
    """The log with one more turn, as the agent itself appends it."""
    here = {"turn": turn, "step": 1}
    user = {"role": "user", "id": f"u-{prompt}", "source": {"kind": "user"}, "content": [{"type": "text", "text": prompt}]}
    source = {"kind": "model", "provider": "deepseek-official", "model": "m"}
    reply = {"role": "assistant", "id": f"a-{prompt}", "source": source, "content": [{"type": "text", "text": answer}]}
    events: list[dict[str, Any]] = [
        {"type": "turn/start", "data": {"turn": turn}},
        {"type": "step/start", "data": here},
        {"type": "user/message", "data": user, "surfaceOp": "append"},
        {"type": "assistant/message", "data": here | {"message": reply, "stream": []}, "surfaceOp": "append"},
        {"type": "step/end", "data": here},
        {"type": "turn/end", "data": {"turn": turn, "reason": {"kind": "completed"}}},
    ]
    more = [{"seq": len(lines) - 1 + at, "time": 1_795_990_000_000} | event for at, event in enumerate(events)]
    return [*lines, *(json.dumps(event).encode() + b"\n" for event in more)]


def said_in(rest: Any, session: str) -> list[Any]:
    page = rest.call("GET", f"/v1/sessions/{session}")
    return [message["content"] for message in page["messages"] if message["role"] != "system"]


def test_what_grew_is_added_to_the_same_session(cli, rest, project, work):
    file = cli.home / "session.v4.jsonl.zstd"
    file.write_bytes(packed(log_of(work)))
    first = cli.json("push", file, "--project", project)
    file.write_bytes(packed(grown(log_of(work), 2, "more", "and more")))
    again = cli.json("push", file, "--project", project)
    assert again["session_id"] == first["session_id"]
    assert said_in(rest, first["session_id"]) == ["go", "gone", "more", "and more"]


def test_what_others_added_comes_back_and_what_the_agent_said_then_goes_to_the_same_session(cli, rest, project, work):
    file = cli.home / "session.v4.jsonl.zstd"
    file.write_bytes(packed(grown(log_of(work), 2, "more", "and more")))
    session = cli.json("push", file, "--project", project)["session_id"]
    by = {"metadata": {"agent_source": "claude-code"}}
    rest.append(session, {"role": "user", "content": "elsewhere", **by})
    rest.append(session, {"role": "assistant", "content": "here", **by})
    cli.json("pull", session, "--to", "dsh", "--install", "--cwd", work)
    (log,) = (cli.home / ".dsh").rglob("*.zstd")
    log.write_bytes(packed(grown(read_lines(log), 4, "last", "words")))
    pushed = cli.json("push", "session-1", "--project", project)
    assert pushed["session_id"] == session
    assert said_in(rest, session) == ["go", "gone", "more", "and more", "elsewhere", "here", "last", "words"]


def test_a_session_of_another_agent_that_was_gone_on_with_goes_back_to_it(cli, rest, project, work):
    session = rest.create(project)
    rest.append(session, {"role": "user", "content": "begun"})
    rest.append(session, {"role": "assistant", "content": "elsewhere"})
    cli.json("pull", session, "--to", "dsh", "--install", "--cwd", work)
    (log,) = (cli.home / ".dsh").rglob("*.zstd")
    log.write_bytes(packed(grown(read_lines(log), 2, "on", "and on")))
    pushed = cli.json("push", log.parent.name, "--project", project)
    assert pushed["session_id"] == session
    assert said_in(rest, session) == ["begun", "elsewhere", "on", "and on"]
