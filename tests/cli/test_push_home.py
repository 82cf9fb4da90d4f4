"""A session that went home to its own agent written anew: what it had is known again, and what it says then is new."""

import json
from pathlib import Path
from typing import Any

import pytest
from hubs import HubProcess

from cli.containers_dsh import packed, read_lines

OLDER_GEMINI = Path(__file__).parent.parent / "samples" / "gemini" / "older.json"
DSH_LOGS = [f"dsh/{name}-session.jsonl" for name in ("advanced-toolchain", "bash-tool-turn", "steering")]
TRACE = "hermes/trace-20261130_003112_905a16.jsonl"  # of Hermes, in Claude Code's format


@pytest.fixture(scope="module")
def hub(hub_without_redaction: HubProcess) -> HubProcess:
    return hub_without_redaction


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def went_home(cli: Any, file: Path, project: str, work: Path, agent: str) -> tuple[str, str]:
    """The hub's id of a session, and the agent's of what was installed of it."""
    session = str(cli.json("push", file, "--project", project)["session_id"])
    told = cli.json("pull", session, "--to", agent, "--install", "--cwd", work)
    return session, told["native_session_id"]


def adds_nothing(cli: Any, rest: Any, file: Path, project: str, work: Path, agent: str) -> None:
    session, native_id = went_home(cli, file, project, work, agent)
    before = rest.messages(session)
    for _ in range(2):
        again = cli.json("push", native_id, "--agent", agent, "--project", project)
        assert (again["session_id"], again["appended"]) == (session, 0)
    assert rest.messages(session) == before
    assert len(rest.sessions(project)) == 1


@pytest.mark.parametrize("name", DSH_LOGS)
def test_a_log_of_an_older_format_of_dsh_adds_nothing(cli, rest, project, work, corpus, name):
    adds_nothing(cli, rest, corpus / name, project, work, "dsh")


def test_a_document_of_an_older_gemini_adds_nothing(cli, rest, project, work):
    adds_nothing(cli, rest, OLDER_GEMINI, project, work, "gemini")


def test_a_trace_in_the_format_of_claude_code_adds_nothing(cli, rest, project, work, corpus):
    adds_nothing(cli, rest, corpus / TRACE, project, work, "claude-code")


@pytest.mark.parametrize("name", DSH_LOGS)
def test_what_dsh_says_then_goes_to_the_same_session(cli, rest, project, work, corpus, name):
    session, native_id = went_home(cli, corpus / name, project, work, "dsh")
    before = rest.messages(session)
    (log,) = (cli.home / ".dsh").rglob("*.zstd")
    lines = read_lines(log)
    turn = 1 + sum(b'"turn/start"' in line for line in lines)
    user = {"role": "user", "id": "u-on", "source": {"kind": "user"}, "content": [{"type": "text", "text": "Go on."}]}
    events: list[dict[str, Any]] = [
        {"type": "turn/start", "data": {"turn": turn}},
        {"type": "step/start", "data": {"turn": turn, "step": 1}},
        {"type": "user/message", "data": user, "surfaceOp": "append"},
    ]
    more = [{"seq": len(lines) - 1 + at, "time": 1_795_990_000_000} | event for at, event in enumerate(events)]
    log.write_bytes(packed([*lines, *(json.dumps(event).encode() + b"\n" for event in more)]))
    again = cli.json("push", native_id, "--agent", "dsh", "--project", project)
    assert (again["session_id"], again["appended"]) == (session, 1)
    after = rest.messages(session)
    assert (after[:-1], after[-1]["content"]) == (before, "Go on.")
