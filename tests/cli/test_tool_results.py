"""Claude Code's long outputs of tools, files beside the transcript: kept in the hub, told, and files again at home."""

import json
from pathlib import Path

import pytest

from adapters.claude_code.names import project_key
from adapters.claude_code.side_files import PART_CHARS

SAMPLE = Path(__file__).resolve().parents[2] / "cli" / "samples" / "relay-timer.jsonl"
LONG = ("line of output é\n" * 80_000).encode()
FILES = {"toolu_01.txt": b"short\n", "long.txt": LONG, "odd.bin": b"\xff\x00\xfe", "empty.txt": b""}


@pytest.fixture
def transcript(cli) -> Path:
    path = cli.home / SAMPLE.name
    path.write_bytes(SAMPLE.read_bytes())
    folder = path.with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return path


def test_they_are_kept_counted_and_sent_once(cli, rest, project, transcript, tmp_path):
    assert len(LONG) > PART_CHARS
    answer = cli.json("push", transcript, "--project", project, "--report", tmp_path / "report.jsonl")
    assert (answer["appended"], answer["native"], answer["skipped"]) == (17, 3 + len(FILES) + 1, 0)
    report = json.loads((tmp_path / "report.jsonl").read_text("utf-8"))
    assert report["counts"]["files"] == {"found": 4, "converted": 0, "degraded": 0, "kept_native": 4, "dropped": 0}
    assert any(item["path"] == "files/tool-results" for item in report["kept_native"])
    before = rest.head()
    assert cli.json("push", transcript, "--project", project)["appended"] == 0
    assert rest.head() == before
    (transcript.with_suffix("") / "tool-results" / "new.txt").write_bytes(b"new")
    assert cli.json("push", transcript, "--project", project)["native"] == 3 + len(FILES) + 2


def test_an_export_has_them_as_files_beside_the_transcript(cli, rest, project, transcript):
    session_id = cli.json("push", transcript, "--project", project)["session_id"]
    files = rest.call("GET", f"/v1/sessions/{session_id}/export?to=claude-code")["files"]
    named = {file["name"].rpartition("/tool-results/")[2]: file for file in files if "/tool-results/" in file["name"]}
    assert set(named) == set(FILES)
    assert named["long.txt"]["content"].encode() == LONG
    assert "content_base64" in named["odd.bin"]


def test_a_conversion_carries_them_through_a_messages_file(cli, transcript, tmp_path):
    out, home = tmp_path / "out.jsonl", tmp_path / "home" / "home.jsonl"
    cli.json("convert", "--to", "messages", transcript, out)
    report = cli.json("convert", "--to", "claude-code", out, home)
    assert report["written"]["counts"]["files"]["converted"] == len(FILES)
    assert home.read_bytes() == SAMPLE.read_bytes()
    found = {path.name: path.read_bytes() for path in (home.with_suffix("") / "tool-results").iterdir()}
    assert found == FILES


def test_a_pull_has_them_beside_the_transcript_in_a_file_and_in_the_store(cli, project, transcript, tmp_path):
    session_id = cli.json("push", transcript, "--project", project)["session_id"]
    out, work = tmp_path / "out.jsonl", tmp_path / "work"
    work.mkdir()
    cli.json("pull", session_id, "--to", "claude-code", "-o", out)
    installed = cli.json("pull", session_id, "--to", "claude-code", "--install", "--cwd", work)
    store = Path(installed["store"]) / "projects" / project_key(str(work)) / installed["native_session_id"]
    for folder in (out.with_suffix(""), store):
        assert {path.name: path.read_bytes() for path in (folder / "tool-results").iterdir()} == FILES
    assert cli.json("push", installed["native_session_id"], "--agent", "claude-code", "--project", project)["appended"] == 0
    cli.json("pull", session_id, "--to", "claude-code", "--undo")
    assert not store.exists()


def test_a_name_that_leads_elsewhere_is_no_file(cli, tmp_path):
    record = {"file": "../../evil.txt", "part": 0, "parts": 1, "text": "x"}
    natives = {"agent": "claude-code", "version": "2.1.144", "records": [record]}
    lines = [{"type": "session", "schema_version": 1, "meta": {}}, {"role": "user", "content": "Hi."}, natives]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report = cli.json("convert", "--from", "messages", "--to", "claude-code", tmp_path / "in.jsonl", tmp_path / "o" / "out.jsonl")
    assert report["written"]["counts"]["files"]["dropped"] == 1
    assert not list(tmp_path.rglob("evil.txt"))
