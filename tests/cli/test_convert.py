"""Convert: a session's file of one agent into another's, without a hub, and home again as it was."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "cli" / "samples"


def convert(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "cli.main", "convert", *map(str, arguments)], capture_output=True, text=True)


def values(path: Path) -> list[object]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


@pytest.fixture
def sample() -> Path:
    return next(SAMPLE.rglob("*.jsonl"))


def test_home_again_by_way_of_a_messages_file(sample: Path, tmp_path: Path):
    there = convert("--to", "messages", sample, tmp_path / "m.jsonl", "--no-redact", "--report", tmp_path / "r.json")
    back = convert("--to", "claude-code", tmp_path / "m.jsonl", tmp_path / "back.jsonl", "--no-redact", "--strict")
    assert (there.returncode, back.returncode) == (0, 0), there.stderr + back.stderr
    assert values(tmp_path / "back.jsonl") == values(sample)
    report = json.loads((tmp_path / "r.json").read_text())
    for sums in (sums for unit, sums in report["read"]["counts"].items() if unit != "messages"):
        assert sums["found"] == sum(count for name, count in sums.items() if name != "found")


def test_every_corpus_file_comes_home_as_it_was(corpus: Path, tmp_path: Path):
    for path in sorted((corpus / "claude-code").glob("*.jsonl")):
        assert convert("--to", "messages", path, tmp_path / "m.jsonl", "--no-redact").returncode == 0
        assert convert("--to", "claude-code", tmp_path / "m.jsonl", tmp_path / "back.jsonl", "--no-redact").returncode == 0
        assert values(tmp_path / "back.jsonl") == values(path), path.name


def test_a_session_goes_to_codex_and_one_of_codex_comes_home(sample: Path, tmp_path: Path):
    there = convert("--to", "codex", sample, tmp_path / "rollout.jsonl", "--no-redact", "--cwd", "/work", "--model", "local/large")
    assert there.returncode == 0, there.stderr
    [own, *_] = values(tmp_path / "rollout.jsonl")
    assert isinstance(own, dict)
    assert (own["payload"]["cwd"], own["payload"]["model_provider"]) == ("/work", "local")
    for steps in (["messages", "codex"], ["claude-code"]):
        file = tmp_path / "rollout.jsonl"
        for step in steps:
            done = convert("--to", step, file, tmp_path / f"{step}.jsonl", "--no-redact")
            assert done.returncode == 0, done.stderr
            file = tmp_path / f"{step}.jsonl"
    assert values(tmp_path / "codex.jsonl") == values(tmp_path / "rollout.jsonl")


def test_secrets_go_unless_told_otherwise(tmp_path: Path):
    secret = "gh" + "p_" + "a1B2" * 9
    lines = ['{"type":"session","schema_version":1,"meta":{}}', json.dumps({"role": "user", "content": f"my token is {secret}"})]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    done = convert("--from", "messages", "--to", "messages", tmp_path / "in.jsonl", tmp_path / "out.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    assert sum(json.loads(done.stdout)["redactions"].values()) == 1
    assert secret not in (tmp_path / "out.jsonl").read_text()
    convert("--from", "messages", "--to", "messages", tmp_path / "in.jsonl", tmp_path / "out.jsonl", "--no-redact")
    assert secret in (tmp_path / "out.jsonl").read_text()


def test_a_file_that_is_no_session_is_told_and_nothing_is_written(tmp_path: Path):
    (tmp_path / "in.txt").write_text("hello\n")
    done = convert("--to", "messages", tmp_path / "in.txt", tmp_path / "out.jsonl")
    assert done.returncode == 1
    assert "unsupported_format" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("target", "name"), [("hermes", "out.jsonl"), ("hermes", "out.db"), ("opencode", "out.json"), ("opencode", "out.db")]
)
def test_what_was_said_stands_in_every_container(sample: Path, tmp_path: Path, target: str, name: str):
    there = convert("--to", target, sample, tmp_path / name, "--model", "acme/large", "--no-redact")
    back = convert("--from", target, "--to", "messages", tmp_path / name, tmp_path / "m.jsonl", "--no-redact")
    straight = convert("--to", "messages", sample, tmp_path / "s.jsonl", "--no-redact")
    assert (there.returncode, back.returncode, straight.returncode) == (0, 0, 0), there.stderr + back.stderr
    assert _asked(tmp_path / "m.jsonl") == _asked(tmp_path / "s.jsonl") != []


def test_a_refused_conversion_leaves_what_was_there(tmp_path: Path):
    (tmp_path / "in.jsonl").write_text('{"type":"session","schema_version":1,"meta":{}}\n{"role":"system","content":"be brief"}\n')
    (tmp_path / "out.jsonl").write_text("as it was")
    done = convert("--from", "messages", "--to", "claude-code", tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert (done.returncode, "not_converted" in done.stderr) == (1, True)
    assert (tmp_path / "out.jsonl").read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


@pytest.mark.parametrize(("target", "model"), [("messages", ""), ("claude-code", ""), ("opencode", "acme/large")])
def test_sub_agents_come_along_each_with_its_report(tmp_path: Path, target: str, model: str):
    session = "5e551017-9c1f-4a52-8f3e-2f6d0c6c1b11"
    samples = Path(__file__).parents[1] / "samples" / "claude_code"
    (tmp_path / f"{session}.jsonl").write_bytes((samples / "parallel.jsonl").read_bytes())
    (tmp_path / session / "subagents").mkdir(parents=True)
    (tmp_path / session / "subagents" / "agent-a1.jsonl").write_bytes((samples / "agent-a1.jsonl").read_bytes())
    (tmp_path / session / "subagents" / "agent-a1.meta.json").write_text('{"agentType":"Explore","toolUseId":"toolu_1"}')
    done = convert("--to", target, tmp_path / f"{session}.jsonl", tmp_path / "out.x", "--model", model, "--json")
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)["subagents"]
    assert told["read"]["counts"]["messages"] == told["written"]["counts"]["messages"] != {}
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    beside = ["agent-a1.meta.json"] if target == "claude-code" else []
    assert written == [f"{told['session_id']}.jsonl", *beside] or target == "opencode"
    if beside:
        assert json.loads((tmp_path / "out" / beside[0]).read_text()) == {"agentType": "Explore", "toolUseId": "toolu_1"}


def _asked(path: Path) -> list[str]:
    """The texts of the user's messages."""
    spoken = [line for line in values(path) if isinstance(line, dict) and line.get("role") == "user"]
    contents = [line["content"] for line in spoken]
    return [one if isinstance(one, str) else "".join(block.get("text", "") for block in one) for one in contents]


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_session_that_is_read_is_never_written_over(sample: Path, tmp_path: Path):
    own, alias = tmp_path / "own.jsonl", tmp_path / "alias.jsonl"
    own.write_bytes(sample.read_bytes())
    alias.hardlink_to(own)
    before = files_below(tmp_path)
    for more in (
        [own],
        [alias],
        [tmp_path / "out.jsonl", "--report", own],
        [tmp_path / "o.jsonl", "--report", tmp_path / "o.jsonl"],
    ):
        done = convert("--to", "messages", own, *more)
        assert (done.returncode, "named twice" in done.stderr) == (2, True), done.stderr
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("target", ["messages", "codex", "dsh", "gemini", "claude-code"])
def test_a_place_where_no_file_can_stand_is_said_in_one_line_and_nothing_is_left(sample: Path, tmp_path: Path, target: str):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    for place in ("pipe", "", "file/below", "."):
        done = convert("--to", target, sample, tmp_path / place if place else "")
        assert (done.returncode, done.stderr.count("\n"), "[invalid_settings]" in done.stderr) == (2, 1, True), (place, done.stderr)
    assert convert("--to", target, sample, tmp_path / "out", "--report", tmp_path / "no" / "report").stderr.count("\n") == 1
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "out", "pipe"]


def test_an_output_behind_a_link_is_written_where_it_points_to(sample: Path, tmp_path: Path):
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "there.jsonl")
    assert convert("--to", "messages", sample, tmp_path / "link.jsonl").returncode == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert values(tmp_path / "there.jsonl")
