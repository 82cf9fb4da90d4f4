"""`tasuki pull --install` and `--undo`: into an agent's own store, never over what is there, and out again without a trace."""

import pytest
from installing import DATABASES, files_of, installed, refused, store_of, tree, with_subagent


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
