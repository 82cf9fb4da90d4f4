"""Into Claude Code's store: found where it looks, home as it was, and nothing of its own touched."""

import json

from installing import PARENT, SAMPLE, installed, refused, with_subagent

from adapters.claude_code.names import project_key

NATIVE_ID = "5e551017-0000-4000-8000-000000000001"


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


def test_what_goes_home_to_the_same_place_is_byte_for_byte_what_it_was(cli, rest, project, work):
    raw = SAMPLE.read_bytes().replace(b"/home/ann/relay", str(work).encode())
    (cli.home / "in.jsonl").write_bytes(raw)
    session = rest.bring(cli.home / "in.jsonl", project)
    told = cli.json("pull", session, "--to", "claude-code", "--install")
    (file,) = (cli.home / ".claude").rglob("*.jsonl")
    assert file.read_bytes() == raw
    assert told["written"]["warnings"] == []


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


def test_a_working_directory_behind_a_link_is_found_by_its_real_path_and_lines_stay_as_they_were(cli, rest, project, work):
    link = cli.home / "link"
    link.symlink_to(work)
    raw = SAMPLE.read_bytes().replace(b"/home/ann/relay", str(link).encode())
    (cli.home / "in.jsonl").write_bytes(raw)
    session = rest.bring(cli.home / "in.jsonl", project)
    cli.out("pull", session, "--to", "claude-code", "--install")
    (file,) = (cli.home / ".claude").rglob("*.jsonl")
    assert (file.parent.name, file.read_bytes()) == (project_key(str(work.resolve())), raw)
