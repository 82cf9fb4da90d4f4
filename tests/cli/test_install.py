"""`tasuki pull --install` and `--undo`: into an agent's own store, never over what is there, and out again without a trace."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hubs import HubProcess

from adapters.claude_code.names import project_key
from cli import install_files
from cli.containers_dsh import read_lines

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
SAMPLE = SAMPLES / "claude_code" / "parallel.jsonl"
PARENT = "5e551017-9c1f-4a52-8f3e-2f6d0c6c1b11"
NATIVE_ID = "5e551017-0000-4000-8000-000000000001"
DATABASES = ("hermes", "opencode")


@pytest.fixture(scope="module")
def hub(hub_without_redaction: HubProcess) -> HubProcess:
    return hub_without_redaction


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A working directory on this host."""
    folder = tmp_path / "work" / "relay"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def session(rest: Any, project: str) -> str:
    """The hub's id of a session of Claude Code."""
    return str(rest.bring(SAMPLE, project))


def tree(folder: Path) -> dict[str, bytes]:
    """Every file and folder below one, but the client's own records."""
    paths = sorted(path for path in folder.rglob("*") if "data" not in path.relative_to(folder).parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"" for path in paths}


def files_of(cli: Any, agent: str) -> list[Path]:
    """The sessions' files in a store that is made of files."""
    places = {"claude-code": ".claude", "codex": ".codex", "dsh": ".dsh"}
    return sorted(path for path in (cli.home / places[agent]).rglob("*") if ".jsonl" in path.name)


def store_of(cli: Any, agent: str) -> Path:
    places = {"hermes": ".hermes/state.db", "opencode": ".local/share/opencode/opencode.db"}
    return cli.home / places[agent]


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that a database says."""
    with closing(sqlite3.connect(path)) as database:
        names = [row[0] for row in database.execute("select name from sqlite_master where type = 'table' order by name")]
        return {name: database.execute(f"select * from '{name}'").fetchall() for name in names if name != "sqlite_sequence"}


def installed(cli: Any, session: str, agent: str, work: Path, *more: Any) -> Any:
    return cli.json("pull", session, "--to", agent, "--install", "--cwd", work, "--model", "acme/large", *more)


def refused(cli: Any, code: str, *arguments: Any) -> str:
    done = cli.run("pull", *arguments)
    assert (done.returncode, f"[{code}]" in done.stderr) == (1, True), done.stderr
    assert "Traceback" not in done.stderr
    return str(done.stderr)


def with_subagent(cli: Any, project: str) -> str:
    folder = cli.home / "origin"
    (folder / PARENT / "subagents").mkdir(parents=True)
    shutil.copy(SAMPLE, folder / f"{PARENT}.jsonl")
    shutil.copy(SAMPLES / "claude_code" / "agent-a1.jsonl", folder / PARENT / "subagents")
    (folder / PARENT / "subagents" / "agent-a1.meta.json").write_text('{"agentType":"Explore","toolUseId":"toolu_1"}')
    return str(cli.json("push", folder / f"{PARENT}.jsonl", "--project", project)["session_id"])


# --- DeepSeek Harness


def test_dsh_finds_it_by_its_header_and_an_old_log_goes_in_as_a_new_one(cli, project, work):
    header = {"type": "session", "version": 0, "id": "session-1", "createdAt": 1, "cwd": "/there", "delegationDepth": 0}
    message = {"content": [{"type": "text", "text": "go"}], "source": {"kind": "user"}, "role": "user", "id": "u1"}
    said = {"type": "user/message", "seq": 0, "time": 2, "data": message, "surfaceOp": "append"}
    (cli.home / "in.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(said)}\n")
    session = str(cli.json("push", cli.home / "in.jsonl", "--project", project)["session_id"])
    told = installed(cli, session, "dsh", work)
    (log,) = (cli.home / ".dsh").rglob("session.v4.jsonl.zstd")
    assert log.parent.name == "session-1"
    assert json.loads(read_lines(log)[0])["cwd"] == str(work.resolve())
    assert told["command"] == ["dsh", "tui", "--resume", "session-1"]
    cli.out("pull", session, "--to", "dsh", "-o", cli.home / "out.v4.jsonl.zstd")
    assert (cli.home / "out.v4.jsonl.zstd").read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    assert json.loads(read_lines(cli.home / "out.v4.jsonl.zstd")[0])["version"] == 4


def test_a_log_that_dsh_would_refuse_goes_in_only_as_one_that_is_written_anew(cli, project, work):
    """Its first prompt stands before its system prompt: it was gone on with once, and never opens again."""
    header = {"type": "session", "version": 4, "id": "s", "createdAt": 1, "cwd": str(work), "isSeeded": False, "delegationDepth": 0}
    here = {"turn": 1, "step": 1}
    prompt = {"role": "system", "id": "p", "source": {"kind": "system-prompt"}, "content": []}
    message = {"content": [{"type": "text", "text": "go"}], "source": {"kind": "user"}, "role": "user", "id": "u1"}
    events = [
        {"type": "turn/start", "data": {"turn": 1}},
        {"type": "step/start", "data": here},
        {"type": "user/message", "data": message, "surfaceOp": "append"},
        {"type": "system/message", "data": here | {"message": prompt}, "surfaceOp": "append"},
    ]
    lines = [header, *({"seq": seq, "time": 2} | event for seq, event in enumerate(events))]
    (cli.home / "in.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    session = str(cli.json("push", cli.home / "in.jsonl", "--project", project)["session_id"])
    refused(cli, "not_installed", session, "--to", "dsh", "--install", "--cwd", work)
    assert not list((cli.home / ".dsh").rglob("*.zstd"))
    assert installed(cli, session, "dsh", work, "--session-id", "copy")["native_session_id"] == "copy"


# --- Claude Code


def test_claude_code_finds_it_where_it_looks_with_its_sub_agents(cli, project, work):
    session = with_subagent(cli, project)
    told = installed(cli, session, "claude-code", work)
    project_folder = cli.home / ".claude" / "projects" / project_key(str(work.resolve()))
    assert sorted(path.relative_to(project_folder).as_posix() for path in project_folder.rglob("*") if path.is_file()) == [
        f"{PARENT}.jsonl",
        f"{PARENT}/subagents/agent-a1.jsonl",
        f"{PARENT}/subagents/agent-a1.meta.json",
    ]
    assert told["command"] == ["claude", "--resume", PARENT]
    assert told["resume"] == f"cd {work} && claude --resume {PARENT}"
    lines = [json.loads(line) for line in (project_folder / f"{PARENT}.jsonl").read_text().splitlines()]
    assert {line["cwd"] for line in lines if "cwd" in line} == {str(work)}
    assert cli.json("push", PARENT, "--project", f"{project}-again")["sessions"][0]["appended"] == told["messages"]


def test_what_goes_home_to_the_same_place_is_byte_for_byte_what_it_was(cli, project, work):
    raw = SAMPLE.read_bytes().replace(b"/home/ann/relay", str(work).encode())
    (cli.home / "in.jsonl").write_bytes(raw)
    session = cli.json("push", cli.home / "in.jsonl", "--project", project)["session_id"]
    told = cli.json("pull", session, "--to", "claude-code", "--install")
    (file,) = (cli.home / ".claude").rglob("*.jsonl")
    assert file.read_bytes() == raw
    assert told["written"]["warnings"] == []


@pytest.mark.parametrize("agent", ["claude-code", *DATABASES])
def test_installing_again_changes_nothing_and_undo_leaves_no_trace(cli, session, work, agent):
    before = tree(cli.home)
    first = installed(cli, session, agent, work)
    after = tree(cli.home)
    again = installed(cli, session, agent, work)
    assert (first["was_there"], again["was_there"], tree(cli.home)) == (False, True, after)
    assert first["native_session_id"] == again["native_session_id"]
    assert first["messages"] > 0
    assert cli.json("pull", session, "--to", agent, "--undo")["undone"] is True
    assert {name for name, raw in tree(cli.home).items() if raw or name not in before} == {
        name for name in before if before[name]
    } | {name for name in (".hermes", ".local", ".local/share", ".local/share/opencode", ".claude") if (cli.home / name).exists()}
    refused(cli, "no_such_install", session, "--to", agent, "--undo")


@pytest.mark.parametrize("agent", ["claude-code", *DATABASES])
def test_a_session_that_has_grown_in_the_hub_takes_the_place_of_what_was_installed(cli, rest, session, work, agent):
    first = installed(cli, session, agent, work)
    rest.append(session, "one more")
    second = installed(cli, session, agent, work)
    assert (second["was_there"], second["native_session_id"]) == (False, first["native_session_id"])
    assert second["messages"] == first["messages"] + 1
    cli.out("pull", session, "--to", agent, "--undo")
    assert not list((cli.home / ".claude").rglob("*.jsonl"))
    assert agent == "claude-code" or not store_of(cli, agent).exists()


def test_what_claude_code_went_on_with_is_neither_written_over_nor_taken_out(cli, rest, session, work):
    told = installed(cli, session, "claude-code", work)
    (file,) = (cli.home / ".claude").rglob("*.jsonl")
    with file.open("ab") as lines:
        lines.write(b'{"type":"last-prompt"}\n')
    kept = file.read_bytes()
    assert "push" in refused(cli, "gone_on", session, "--to", "claude-code", "--undo")
    rest.append(session, "one more")
    said = refused(cli, "session_in_the_way", session, "--to", "claude-code", "--install", "--cwd", work)
    assert "push" in said
    assert file.read_bytes() == kept
    other = installed(cli, session, "claude-code", work, "--session-id", "11111111-2222-4333-8444-555555555555")
    assert other["native_session_id"] != told["native_session_id"]
    assert file.read_bytes() == kept


def test_a_session_of_the_same_id_that_is_not_ours_is_left_alone(cli, session, work):
    folder = cli.home / ".claude" / "projects" / project_key(str(work.resolve()))
    folder.mkdir(parents=True)
    (folder / f"{NATIVE_ID}.jsonl").write_bytes(b"{}\n")
    refused(cli, "session_in_the_way", session, "--to", "claude-code", "--install", "--cwd", work)
    assert (folder / f"{NATIVE_ID}.jsonl").read_bytes() == b"{}\n"
    (folder / f"{NATIVE_ID}.jsonl").rename(folder / "away.jsonl")
    (folder.parent / "-elsewhere").mkdir()
    (folder / "away.jsonl").rename(folder.parent / "-elsewhere" / f"{NATIVE_ID}.jsonl")
    assert "-elsewhere" in refused(cli, "session_in_the_way", session, "--to", "claude-code", "--install", "--cwd", work)


def test_what_is_there_already_as_the_agent_itself_wrote_it_is_not_ours_to_take_out(cli, project, work):
    raw = SAMPLE.read_bytes().replace(b"/home/ann/relay", str(work).encode())
    file = cli.home / ".claude" / "projects" / project_key(str(work.resolve())) / f"{NATIVE_ID}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(raw)
    session = cli.json("push", file, "--project", project)["session_id"]
    assert cli.json("pull", session, "--to", "claude-code", "--install")["was_there"] is True
    refused(cli, "no_such_install", session, "--to", "claude-code", "--undo")
    assert file.read_bytes() == raw


# --- databases


def another_session(cli: Any, project: str, agent: str, work: Path) -> None:
    """Give an agent a store with a session in it that is not the one under test."""
    other = cli.json("push", ROOT / "cli" / "samples" / "relay-timer.jsonl", "--project", project)["session_id"]
    installed(cli, other, agent, work)


@pytest.mark.parametrize("agent", DATABASES)
def test_beside_others_it_goes_in_and_out_row_by_row(cli, session, project, work, agent):
    another_session(cli, project, agent, work)
    before = rows(store_of(cli, agent))
    told = installed(cli, session, agent, work)
    after = rows(store_of(cli, agent))
    assert len(after["session" if agent == "opencode" else "sessions"]) == 2
    assert {name: [row for row in after[name] if row in before[name]] for name in after} == before, "the other stays as it was"
    cli.out("pull", told["native_session_id"], "--to", agent, "--undo")
    assert rows(store_of(cli, agent)) == before


@pytest.mark.parametrize("agent", DATABASES)
def test_a_store_that_the_agent_has_open_is_left_alone(cli, session, project, work, agent):
    another_session(cli, project, agent, work)
    with closing(sqlite3.connect(store_of(cli, agent), isolation_level=None)) as running:
        assert running.execute("pragma journal_mode = wal").fetchone() == ("wal",)
        running.execute("select count(*) from sqlite_master").fetchone()
        before = rows(store_of(cli, agent))
        refused(cli, "store_held", session, "--to", agent, "--install", "--cwd", work, "--model", "acme/large")
        assert rows(store_of(cli, agent)) == before
    installed(cli, session, agent, work)


@pytest.mark.parametrize("agent", DATABASES)
def test_what_the_agent_went_on_with_stays(cli, rest, session, work, agent):
    told = installed(cli, session, agent, work)
    with closing(sqlite3.connect(store_of(cli, agent))) as database:
        if agent == "hermes":
            database.execute(
                "insert into messages (session_id, role, content, timestamp) values (?, 'user', 'more', 1)",
                (told["native_session_id"],),
            )
        else:
            database.execute("update session set title = 'another' where id = ?", (told["native_session_id"],))
        database.commit()
    before = rows(store_of(cli, agent))
    refused(cli, "gone_on", session, "--to", agent, "--undo")
    rest.append(session, "one more")
    refused(cli, "session_in_the_way", session, "--to", agent, "--install", "--cwd", work, "--model", "acme/large")
    assert rows(store_of(cli, agent)) == before


@pytest.mark.parametrize("agent", DATABASES)
@pytest.mark.parametrize("what", ["no database", "another version"])
def test_a_store_of_an_unknown_kind_is_left_alone(cli, session, work, agent, what):
    path = store_of(cli, agent)
    path.parent.mkdir(parents=True)
    if what == "no database":
        path.write_bytes(b"hello")
    else:
        with closing(sqlite3.connect(path)) as database:
            database.execute("create table sessions (id text)")
            database.commit()
    before = path.read_bytes()
    refused(cli, "unsupported_store", session, "--to", agent, "--install", "--cwd", work, "--model", "acme/large")
    assert path.read_bytes() == before


def test_hermes_rows_get_numbers_of_their_own_and_a_title_that_is_free(cli, session, work):
    installed(cli, session, "hermes", work)
    told = installed(cli, session, "hermes", work, "--session-id", "another_one")
    assert (told["left_out"], any("title" in line for line in told["notes"])) == ([], True)
    found = rows(store_of(cli, "hermes"))
    numbers = [row[0] for row in found["messages"]]
    assert sorted(set(numbers)) == numbers == list(range(1, 2 * told["messages"] + 1))
    assert installed(cli, session, "hermes", work, "--session-id", "another_one")["was_there"] is True


def test_opencode_has_it_in_the_project_of_its_working_directory(cli, session, work):
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-C", str(work)]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "begin"]):
        assert os.spawnvp(os.P_WAIT, "git", [*git, *command]) == 0
    (work / "below").mkdir()
    installed(cli, session, "opencode", work / "below")
    with closing(sqlite3.connect(store_of(cli, "opencode"))) as database:
        (project_id, directory, path) = database.execute("select project_id, directory, path from session").fetchone()
        (worktree, vcs) = database.execute("select worktree, vcs from project where id = ?", (project_id,)).fetchone()
    assert (len(project_id), directory, path) == (40, str(work / "below"), "below")
    assert (worktree, vcs) == (str(work), "git")


def test_an_environment_says_where_the_stores_are(cli, session, work):
    places = {"CLAUDE_CONFIG_DIR": cli.home / "c", "XDG_DATA_HOME": cli.home / "x", "HERMES_HOME": cli.home / "h"}
    env = {name: str(path) for name, path in places.items()}
    for agent in ("claude-code", *DATABASES):
        cli.out("pull", session, "--to", agent, "--install", "--cwd", work, "--model", "a/b", **env)
    assert len(list((cli.home / "c").rglob("*.jsonl"))) == 1
    assert (cli.home / "x" / "opencode" / "opencode.db").is_file()
    assert (cli.home / "h" / "state.db").is_file()
    for agent in ("claude-code", *DATABASES):  # the record says where, whatever the environment says by then
        cli.out("pull", session, "--to", agent, "--undo")
    assert not list((cli.home / "c").rglob("*.jsonl"))


# --- what is not installed


def test_a_working_directory_that_is_not_on_this_host_is_asked_for(cli, session):
    done = cli.run("pull", session, "--to", "claude-code", "--install")
    assert (done.returncode, "--cwd" in done.stderr, "cwd_map" in done.stderr) == (2, True, True)
    assert not (cli.home / ".claude").exists()


def test_under_strict_nothing_is_installed_where_something_would_be_lost(cli, rest, project, work):
    session = rest.create(project)
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    rest.append(session, {"role": "user", "content": [{"type": "text", "text": "listen"}, audio]})
    done = cli.run("pull", session, "--to", "hermes", "--install", "--cwd", work, "--strict")
    assert (done.returncode, "nothing was installed" in done.stdout) == (1, True)
    assert not store_of(cli, "hermes").exists()


@pytest.mark.parametrize("agent", ["claude-code", *DATABASES])
def test_without_a_place_for_its_record_nothing_is_installed(cli, session, work, agent):
    (cli.home / "data").mkdir(exist_ok=True)
    (cli.home / "data" / "installs").write_text("a file where the folder should be")
    done = cli.run("pull", session, "--to", agent, "--install", "--cwd", work, "--model", "acme/large")
    assert (done.returncode, "invalid_settings" in done.stderr) == (2, True), done.stderr
    assert not list((cli.home / ".claude").rglob("*.jsonl"))
    assert agent == "claude-code" or not store_of(cli, agent).exists()


def test_a_sub_agent_alone_is_not_installed_where_it_could_not_be_gone_on_with(cli, rest, project, work):
    session = with_subagent(cli, project)
    (child,) = rest.call("GET", f"/v1/sessions/{session}/lineage")["subagents"]
    refused(cli, "not_installed", child["session_id"], "--to", "claude-code", "--install", "--cwd", work)
    assert not list((cli.home / ".claude").rglob("*.jsonl"))
    assert installed(cli, child["session_id"], "opencode", work)["was_there"] is False


@pytest.mark.parametrize("agent", ["claude-code", *DATABASES])
def test_a_session_without_a_message_is_not_installed(cli, rest, project, work, agent):
    done = cli.run("pull", rest.create(project), "--to", agent, "--install", "--cwd", work, "--model", "acme/large")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert not list((cli.home / ".claude").rglob("*.jsonl"))
    assert agent == "claude-code" or not store_of(cli, agent).exists()


def test_a_working_directory_behind_a_link_is_found_by_its_real_path_and_lines_stay_as_they_were(cli, project, work):
    link = cli.home / "link"
    link.symlink_to(work)
    raw = SAMPLE.read_bytes().replace(b"/home/ann/relay", str(link).encode())
    (cli.home / "in.jsonl").write_bytes(raw)
    session = cli.json("push", cli.home / "in.jsonl", "--project", project)["session_id"]
    cli.out("pull", session, "--to", "claude-code", "--install")
    (file,) = (cli.home / ".claude").rglob("*.jsonl")
    assert (file.parent.name, file.read_bytes()) == (project_key(str(work.resolve())), raw)


def test_an_install_that_was_killed_before_anything_was_put_in_place_is_done_again(cli, session, work):
    installed(cli, session, "claude-code", work)
    (file,) = (cli.home / ".claude").rglob("*.jsonl")
    content = file.read_bytes()
    file.unlink()
    assert installed(cli, session, "claude-code", work)["was_there"] is False
    assert file.read_bytes() == content
    file.unlink()
    assert cli.json("pull", session, "--to", "claude-code", "--undo")["undone"] is False


def test_an_install_that_was_killed_midway_is_finished_or_taken_out(cli, project, work):
    session = with_subagent(cli, project)
    killer = "import sys, os; import cli.install_files as files; put = files._place\n"
    killer += "files._place = lambda path, *a, **k: put(path, *a, **k) or path.name != 'agent-a1.jsonl' or os._exit(9)\n"
    killer += "import cli.main; sys.exit(cli.main.main(sys.argv[1:]))"
    command = ["pull", session, "--to", "claude-code", "--install", "--cwd", str(work)]
    for way_on in ([*command, "--json"], [*command[:4], "--undo"]):
        killed = subprocess.run([sys.executable, "-c", killer, *command], env=cli.env, cwd=cli.home, check=False)
        assert killed.returncode == 9
        assert {path.name for path in files_of(cli, "claude-code")} == {"agent-a1.jsonl"}
        cli.out(*way_on)
        assert len(files_of(cli, "claude-code")) == (2 if "--install" in way_on else 0)
        if "--install" in way_on:
            cli.out(*command[:4], "--undo")


def killed_before_its_first_file_is_in_place(cli: Any, *command: Any) -> None:
    killer = "import os, sys; import cli.install_files as room; room._link = lambda *a: os._exit(9)\n"
    killer += "import cli.main; sys.exit(cli.main.main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", killer, *map(str, command)], env=cli.env, cwd=cli.home, check=False)
    assert done.returncode == 9


@pytest.mark.parametrize("agent", ["claude-code", "codex", "dsh", "gemini"])
def test_an_install_that_was_killed_before_its_first_file_is_in_place_leaves_nothing_after_undo(cli, session, work, agent):
    before = tree(cli.home)
    killed_before_its_first_file_is_in_place(cli, "pull", session, "--to", agent, "--install", "--cwd", work)
    assert [path for path in cli.home.rglob("*") if path.name.endswith(".draft")]
    cli.out("pull", session, "--to", agent, "--undo")
    assert tree(cli.home) == before


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("step", ["replace", "unlink"])
@pytest.mark.parametrize("way_on", ["--undo", "--install"])
def test_an_undo_that_was_killed_midway_is_finished_or_undone(cli, project, work, step, at, way_on):
    session = with_subagent(cli, project)
    before = tree(cli.home)
    cli.out("pull", session, "--to", "claude-code", "--install", "--cwd", work)
    whole = tree(cli.home)
    killer = f"import sys, os; from pathlib import Path; real = Path.{step}; count = []\n"
    killer += "def call(self, *a, **k):\n    if '.undo' in f'{self} {a}': count.append(1)\n"
    killer += f"    if len(count) == {at}: os._exit(9)\n    return real(self, *a, **k)\n"
    killer += f"Path.{step} = call\nimport cli.main; sys.exit(cli.main.main(sys.argv[1:]))"
    command = ["pull", session, "--to", "claude-code"]
    killed = subprocess.run([sys.executable, "-c", killer, *command, "--undo"], env=cli.env, cwd=cli.home, check=False)
    assert killed.returncode == 9
    cli.out(*command, way_on, *(["--cwd", work] if way_on == "--install" else []))
    assert tree(cli.home) == (before if way_on == "--undo" else whole)


def test_a_database_that_holds_more_than_what_made_it_stays_when_that_is_taken_out(cli, session, project, work):
    another_session(cli, project, "opencode", work)
    installed(cli, session, "opencode", work)
    another = cli.json("push", ROOT / "cli" / "samples" / "relay-timer.jsonl", "--project", project)["session_id"]
    cli.out("pull", another, "--to", "opencode", "--undo")
    assert len(rows(store_of(cli, "opencode"))["session"]) == 1


def test_what_is_said_can_be_read(cli, session, work):
    said = cli.out("pull", session, "--to", "hermes", "--install", "--cwd", work)
    lines = said.splitlines()
    assert lines[0].startswith(f"{session} → {store_of(cli, 'hermes')}: hermes session ")
    assert lines[-1].startswith(f"go on with it:  cd {work} && hermes --resume ")
    assert any("messages read back" in line for line in lines)


@pytest.mark.parametrize("agent", ["codex", "dsh"])
def test_other_agents_whose_sessions_are_files_keep_the_same_promises(cli, rest, session, work, agent):
    first = installed(cli, session, agent, work)
    (file,) = files_of(cli, agent)
    content = file.read_bytes()
    assert installed(cli, session, agent, work)["was_there"] is True
    assert cli.json("push", file, "--project", f"again-{agent}")["found"] > 0
    rest.append(session, "one more")
    assert installed(cli, session, agent, work)["messages"] == first["messages"] + 1
    with file.open("ab") as lines:
        lines.write(b"{}\n")
    refused(cli, "gone_on", session, "--to", agent, "--undo")
    rest.append(session, "and one more")
    refused(cli, "session_in_the_way", session, "--to", agent, "--install", "--cwd", work)
    file.write_bytes(content)  # no longer what was left
    refused(cli, "gone_on", session, "--to", agent, "--undo")
    file.unlink()
    installed(cli, session, agent, work)
    cli.out("pull", session, "--to", agent, "--undo")
    assert files_of(cli, agent) == []


def test_a_session_that_dsh_has_open_is_left_alone(cli, rest, session, work):
    fcntl = pytest.importorskip("fcntl")
    installed(cli, session, "dsh", work)
    (file,) = files_of(cli, "dsh")
    with file.with_name("session.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused(cli, "store_held", session, "--to", "dsh", "--undo")
        rest.append(session, "one more")
        refused(cli, "store_held", session, "--to", "dsh", "--install", "--cwd", work, "--model", "acme/large")
    assert cli.json("pull", session, "--to", "dsh", "--undo")["undone"] is True


def test_half_of_a_newer_install_is_known_as_ours():
    old, new = {"own": b"1", "child": b"1"}, {"own": b"2", "child": b"2"}
    midway = install_files._digest({"own": b"1", "child": b"2"})
    assert midway in install_files._half_done(new, old)
    assert midway not in install_files._half_done(new, {"own": b"3", "child": b"1"})
    assert install_files._half_done(new, {}) == (install_files._digest({"child": b"2"}),)
