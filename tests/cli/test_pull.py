"""`tasuki pull -o`: a session comes out of a hub in any agent's format, and home as it was, value by value."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hubs import HubProcess

from eventstore.errors import InvalidJson
from eventstore.wire.codec import parse

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "cli" / "samples" / "relay-timer.jsonl"
SAMPLES = ROOT / "tests" / "samples"
PARENT = "5e551017-9c1f-4a52-8f3e-2f6d0c6c1b11"
AGENTS = ("claude-code", "hermes", "opencode")


@pytest.fixture(scope="module")
def hub(hub_without_redaction: HubProcess) -> HubProcess:
    """A hub that stores what comes as it is, so that it can be compared."""
    return hub_without_redaction


def values(raw: bytes) -> list[object]:
    """The JSON value of a document or of each line, numbers by spelling; what is no JSON, as bytes."""
    try:
        return [parse(raw.decode())]
    except (UnicodeDecodeError, InvalidJson):
        return [_value(line) for line in raw.removeprefix(b"\xef\xbb\xbf").splitlines()]


def _value(line: bytes) -> object:
    try:
        return parse(line.decode())
    except (UnicodeDecodeError, InvalidJson):
        return line


def home(cli: Any, project: str, path: Path, out: Path) -> dict[str, Any]:
    """Bring a file in, pull it for the agent that it is from, and return what pull said."""
    there = cli.json("push", path, "--project", f"{project} {path.name}")["sessions"][0]
    told: dict[str, Any] = cli.json("pull", there["session_id"], "--to", there["agent"], "-o", out, "--strict")
    assert told["agent"] == there["agent"]
    return told


def with_subagent(folder: Path) -> Path:
    """A session of Claude Code that started a sub-agent, as the agent keeps it."""
    path = folder / f"{PARENT}.jsonl"
    path.write_bytes((SAMPLES / "claude_code" / "parallel.jsonl").read_bytes())
    (folder / PARENT / "subagents").mkdir(parents=True)
    (folder / PARENT / "subagents" / "agent-a1.jsonl").write_bytes((SAMPLES / "claude_code" / "agent-a1.jsonl").read_bytes())
    (folder / PARENT / "subagents" / "agent-a1.meta.json").write_text('{"agentType":"Explore","toolUseId":"toolu_1"}')
    return path


@pytest.mark.parametrize("path", [SAMPLE, *sorted(SAMPLES.glob("*/*.json*"))], ids=lambda path: path.name)
def test_a_sample_comes_home_as_it_was(cli, project, tmp_path, path):
    told = home(cli, project, path, tmp_path / f"back{path.suffix}")
    assert values((tmp_path / f"back{path.suffix}").read_bytes()) == values(path.read_bytes())
    assert not any(told["written"][kind] for kind in ("dropped", "degraded", "synthesised", "warnings"))


@pytest.mark.parametrize("agent", AGENTS)
def test_every_corpus_file_comes_home_as_it_was(cli, project, tmp_path, corpus, agent):
    files = [path for path in sorted((corpus / agent).glob("*.json*")) if path.is_file()]
    if not files:
        pytest.skip(f"no sessions of {agent} in {corpus}")
    for path in files:
        out = tmp_path / f"back-{path.name}"
        home(cli, project, path, out)
        assert values(out.read_bytes()) == values(path.read_bytes()), path.name


def test_pulling_again_gives_the_same_bytes(cli, project, tmp_path):
    pushed = cli.json("push", SAMPLE, "--project", project)["session_id"]
    for agent, suffix in (("claude-code", "jsonl"), ("messages", "jsonl"), ("opencode", "json"), ("hermes", "jsonl")):
        first, second = tmp_path / f"1-{agent}.{suffix}", tmp_path / f"2-{agent}.{suffix}"
        for out in (first, second):
            cli.out("pull", pushed, "--to", agent, "--model", "acme/large", "-o", out)
        assert first.read_bytes() == second.read_bytes() != b""


def test_sub_agents_come_along_with_their_sidecars(cli, project, tmp_path):
    path = with_subagent(tmp_path)
    pushed = cli.json("push", path, "--project", project)["session_id"]
    told = cli.json("pull", pushed, "--to", "claude-code", "-o", tmp_path / "out.jsonl")
    assert [one["native_session_id"] for one in told["subagents"]] == ["agent-a1"]
    assert values((tmp_path / "out.jsonl").read_bytes()) == values(path.read_bytes())
    for name in ("agent-a1.jsonl", "agent-a1.meta.json"):
        original = tmp_path / PARENT / "subagents" / name
        assert values((tmp_path / "out" / name).read_bytes()) == values(original.read_bytes())


def test_a_fork_comes_whole_and_is_another_session(cli, rest, project, tmp_path):
    pushed = cli.json("push", SAMPLE, "--project", project)["session_id"]
    snapshot = rest.call("POST", "/v1/snapshots", {"session_id": pushed})
    fork = rest.call("POST", f"/v1/snapshots/{snapshot['snapshot_id']}/fork", {})["session_id"]
    rest.append(fork, "said on the fork")
    told = cli.json("pull", fork, "--to", "claude-code", "-o", tmp_path / "fork.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "fork.jsonl").read_text().splitlines()]
    assert {line["sessionId"] for line in lines if "sessionId" in line} == {told["native_session_id"]}
    said = [line["message"]["content"] for line in lines if line["type"] == "user" and "message" in line]
    assert said[-1] in ("said on the fork", [{"type": "text", "text": "said on the fork"}])
    assert lines[0]["cwd"] == "/home/ann/relay", "what the fork does not say, its parent does"
    again = cli.json("pull", fork, "--to", "claude-code", "-o", tmp_path / "again.jsonl")
    assert again["native_session_id"] == told["native_session_id"] != "7a5c0e1d-4b6f-4d8a-9a57-0c1f5e3d2b19"


def test_strict_says_no_where_something_was_dropped_and_the_report_says_what(cli, rest, project, tmp_path):
    session = rest.create(project)
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    rest.append(session, {"role": "user", "content": [{"type": "text", "text": "listen"}, audio]})
    command = ("pull", session, "--to", "hermes", "-o", tmp_path / "out.jsonl", "--report", tmp_path / "report.json")
    done = cli.run(*command, "--strict")
    assert (done.returncode, "dropped" in done.stdout) == (1, True), done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["written"]["dropped"]
    (tmp_path / "out.jsonl").unlink()
    assert cli.run(*command).returncode == 0


def test_working_directories_of_another_host_are_found_on_this_one(cli, project, tmp_path):
    pushed = cli.json("push", SAMPLE, "--project", project)["session_id"]
    out = tmp_path / "out.jsonl"
    cli.out("pull", pushed, "--to", "claude-code", "-o", out, TASUKI_CWD_MAP="/home/ann=/Users/ann,/home=/else")
    assert '"cwd":"/Users/ann/relay"' in out.read_text()
    (tmp_path / "config.toml").write_text('[cwd_map]\n"/home/ann/relay" = "/srv/relay"\n')
    cli.out("pull", pushed, "--to", "claude-code", "-o", out, TASUKI_CONFIG=str(tmp_path / "config.toml"))
    assert '"cwd":"/srv/relay"' in out.read_text()
    cli.out("pull", pushed, "--to", "claude-code", "-o", out, "--cwd", "/opt/relay", TASUKI_CWD_MAP="/home=/else")
    assert '"cwd":"/opt/relay"' in out.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (("ses_none", "--to", "messages", "-o", "x.jsonl"), "session_not_found", 1),
        (("ses_none", "--to", "messages", "--install"), "invalid_settings", 2),
        (("ses_none", "--to", "claude-code", "--undo"), "no_such_install", 1),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(cli, arguments, code, exit_code):
    done = cli.run("pull", *arguments)
    assert (done.returncode, f"[{code}]" in done.stderr, done.stderr.count("\n")) == (exit_code, True, 1), done.stderr


def test_a_file_that_is_no_file_or_is_named_twice_is_refused_in_one_line(cli):
    os.mkfifo(cli.home / "pipe")
    for place in ("pipe", "", "."):
        done = cli.run("pull", "ses_none", "--to", "messages", "-o", place)
        assert (done.returncode, "[invalid_settings]" in done.stderr, done.stderr.count("\n")) == (2, True, 1), done.stderr
    twice = cli.run("pull", "ses_none", "--to", "messages", "-o", "x.jsonl", "--report", "x.jsonl")
    assert (twice.returncode, "named twice" in twice.stderr) == (2, True), twice.stderr
    assert (cli.home / "pipe").is_fifo()
