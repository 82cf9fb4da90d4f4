"""The client of docs/rest-client.md, as it stands on the page, against a real hub."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hubs import HubProcess
from restclient import Rest

PAGE = Path(__file__).parents[2] / "docs" / "rest-client.md"
SAMPLE = Path(__file__).parents[2] / "cli" / "samples" / "relay-timer.jsonl"
LINES_MAX = 100


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    path = tmp_path / "hub.py"
    path.write_text(code, "utf-8")
    return path


class Program:
    def __init__(self, path: Path, hub: HubProcess) -> None:
        self._path = path
        self._env = {"TASUKI_URL": hub.url, "TASUKI_TOKEN": hub.token, "PATH": os.environ["PATH"]}

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        command = [sys.executable, "-I", str(self._path), *map(str, arguments)]
        return subprocess.Popen(command, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments: object) -> tuple[int, str, str]:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=60)
            return process.returncode, out, err


@pytest.fixture
def client(program: Path, hub: HubProcess) -> Program:
    return Program(program, hub)


def test_it_is_short_and_needs_nothing_but_python(program: Path):
    lines = program.read_text("utf-8").splitlines()
    assert len(lines) < LINES_MAX
    imported = {line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert imported <= sys.stdlib_module_names


def test_a_session_goes_in_once_and_comes_out_as_it_was(client: Program, tmp_path: Path):
    status, out, err = client.run("import", SAMPLE, "page")
    assert status == 0, err
    first = json.loads(out)
    assert (first["agent"], first["appended"], first["native"]) == ("claude-code", 17, 3)
    again = json.loads(client.run("import", SAMPLE, "page", "claude-code")[1])
    assert (again["session_id"], again["appended"], again["repeated"]) == (first["session_id"], 0, 17)
    status, out, err = client.run("export", first["session_id"], "claude-code", tmp_path / "out")
    assert status == 0, err
    path, native_id = out.splitlines()
    assert Path(path).stem == native_id
    values = [[json.loads(line) for line in one.read_bytes().splitlines()] for one in (Path(path), SAMPLE)]
    assert values[0] == values[1]
    status, _, err = client.run("export", first["session_id"], "claude-code", tmp_path / "out")
    assert status == 1
    assert "already" in err


def test_bytes_that_are_no_text_come_out_too(client: Program, tmp_path: Path):
    (tmp_path / "in.jsonl").write_bytes(
        b'{"type":"session","schema_version":1,"meta":{}}\n{"role":"user","content":"a"}\n\xff\xfe\n'
    )
    session_id = json.loads(client.run("import", tmp_path / "in.jsonl", "page")[1])["session_id"]
    status, out, err = client.run("export", session_id, "messages", tmp_path / "out")
    assert status == 0, err
    assert Path(out.splitlines()[0]).read_bytes().endswith(b"\n\xff\xfe\n")


async def test_it_follows_a_session_to_its_end(client: Program, rest: Rest):
    session_id = await rest.create()
    await rest.append(session_id, "first")
    with client.start("tail", session_id) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["content"] == "first"
        await rest.append(session_id, "second")
        assert json.loads(process.stdout.readline())["content"] == "second"
        await rest.delete(session_id)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err.startswith("session_deleted")


def test_what_goes_wrong_is_told_in_a_line(client: Program, tmp_path: Path):
    (tmp_path / "no.txt").write_text("hello\n")
    for arguments, begin in (
        (("import", tmp_path / "no.txt", "page"), "unsupported_format"),
        (("import", tmp_path / "none.txt", "page"), "[Errno 2]"),
        (("export", "ses_none", "messages", tmp_path), "session_not_found"),
        (("export", "ses_none"), "hub.py:"),
        (("dance",), "hub.py:"),
        ((), "hub.py:"),
    ):
        status, out, err = client.run(*arguments)
        assert (status, out) == (1, "")
        assert err.startswith(begin)
        assert "Traceback" not in err
