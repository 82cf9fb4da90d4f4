"""`tasuki pull --install` for Gemini CLI: into the project's folder, found by the agent, kept by it, and out again."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from adapters.gemini.names import project_hash
from adapters.gemini.reader import read
from cli.stores_gemini import all_in_stores

SAMPLES = Path(__file__).parent.parent / "samples"
SESSION = "6b1f0c5e-2f53-4b0e-9a55-0d8f3c1a7e21"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A working directory on this host."""
    folder = tmp_path / "work" / "Relay Race"
    folder.mkdir(parents=True)
    return folder


def installed(cli: Any, session: str, work: Path, *more: Any) -> Any:
    return cli.json("pull", session, "--to", "gemini", "--install", "--cwd", work, *more)


def files(cli: Any) -> list[str]:
    home = cli.home / ".gemini"
    return sorted(path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file())


def refused(cli: Any, code: str, *arguments: Any) -> str:
    done = cli.run("pull", *arguments)
    assert (done.returncode, f"[{code}]" in done.stderr) == (1, True), done.stderr
    return str(done.stderr)


def test_it_stands_in_the_projects_folder_with_its_marker_and_goes_without_a_trace(cli, session, work):
    told = installed(cli, session, work)
    marker, chat = files(cli)
    assert (marker, chat.rpartition("/")[0]) == ("tmp/relay-race/.project_root", "tmp/relay-race/chats")
    assert (cli.home / ".gemini" / marker).read_text() == str(work.resolve())
    header = json.loads((cli.home / ".gemini" / chat).read_text().splitlines()[0])
    assert (header["sessionId"], header["projectHash"]) == (told["native_session_id"], project_hash(str(work)))
    assert told["resume"].endswith(f"gemini --resume {told['native_session_id']}")
    assert installed(cli, session, work)["was_there"] is True
    assert cli.json("pull", session, "--to", "gemini", "--undo")["undone"] is True
    assert files(cli) == []
    assert not (cli.home / ".gemini" / "tmp").exists()


def test_a_folder_that_the_agent_has_for_the_project_is_taken(cli, session, work):
    home = cli.home / ".gemini"
    (home / "tmp" / "other-name" / "chats").mkdir(parents=True)
    (home / "tmp" / "other-name" / ".project_root").write_text(str(work.resolve()))
    installed(cli, session, work)
    assert [path.rpartition("/")[0] for path in files(cli)] == ["tmp/other-name", "tmp/other-name/chats"]
    cli.out("pull", session, "--to", "gemini", "--undo")
    assert files(cli) == ["tmp/other-name/.project_root"], "what the agent had stays"


def test_a_name_that_another_project_has_is_not_taken(cli, session, work):
    home = cli.home / ".gemini"
    (home / "tmp" / "relay-race").mkdir(parents=True)
    (home / "tmp" / "relay-race" / ".project_root").write_text("/home/ann/relay race")
    (home / "projects.json").write_text(json.dumps({"projects": {"/srv/relay-race": "relay-race-1"}}))
    installed(cli, session, work)
    assert "tmp/relay-race-2/.project_root" in files(cli)


def test_one_that_has_grown_takes_the_place_of_the_first_and_what_gemini_went_on_with_stays(cli, rest, session, work):
    first = installed(cli, session, work)
    rest.append(session, "one more")
    second = installed(cli, session, work)
    assert (second["was_there"], second["messages"]) == (False, first["messages"] + 1)
    (chat,) = (cli.home / ".gemini").glob("tmp/*/chats/*.jsonl")
    with chat.open("ab") as lines:
        lines.write(b'{"$set":{"summary":"A relay"}}\n')
    kept = chat.read_bytes()
    refused(cli, "gone_on", session, "--to", "gemini", "--undo")
    rest.append(session, "and another")
    assert "push" in refused(cli, "session_in_the_way", session, "--to", "gemini", "--install", "--cwd", work)
    assert chat.read_bytes() == kept


def test_a_session_that_stands_in_another_project_is_in_the_way(cli, project, work):
    chats = cli.home / ".gemini" / "tmp" / "relay" / "chats"
    chats.mkdir(parents=True)
    shutil.copy(SAMPLES / "gemini" / "turns.jsonl", chats / f"session-2026-11-30T07-20-{SESSION[:8]}.jsonl")
    session = cli.json("push", SESSION, "--project", project)["session_id"]
    said = refused(cli, "session_in_the_way", session, "--to", "gemini", "--install", "--cwd", work)
    assert str(chats) in said
    other = installed(cli, session, work, "--session-id", "11111111-2222-4333-8444-555555555555")
    assert other["native_session_id"].startswith("11111111")


def test_a_session_of_long_ago_is_told_to_be_of_today(cli, project, tmp_path, work):
    """The agent would delete it when it starts."""
    old = (SAMPLES / "gemini" / "turns.jsonl").read_text("utf-8").replace("2026-11-30T", "2020-11-30T")
    (tmp_path / "old.jsonl").write_text(old)
    session = cli.json("push", tmp_path / "old.jsonl", "--project", project)["session_id"]
    installed(cli, session, work)
    (chat,) = (cli.home / ".gemini").glob("tmp/*/chats/*.jsonl")
    lines = chat.read_text("utf-8").splitlines()
    assert len(lines) == len(old.splitlines()) + 1
    assert json.loads(lines[-1])["$set"]["lastUpdated"] > "2026"
    assert installed(cli, session, work)["was_there"] is True


def test_what_was_installed_is_a_session_that_push_finds(cli, session, work, monkeypatch):
    told = installed(cli, session, work)
    monkeypatch.setenv("GEMINI_CLI_HOME", str(cli.home))
    (source,) = all_in_stores()
    conversion = read(source.path.read_bytes().splitlines(keepends=True))  # type: ignore[union-attr]  # a file, not an error
    assert conversion.meta["native_session_id"] == told["native_session_id"]
