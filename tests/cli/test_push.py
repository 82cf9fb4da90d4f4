"""`tasuki push`: a session of an agent goes in whole, what is new of it when it has grown, and nothing twice."""

import json
import os
import shutil
from pathlib import Path

import pytest
from hubs import running_hub

from adapters.registry import READERS

SAMPLE = Path(__file__).resolve().parents[2] / "cli" / "samples" / "relay-timer.jsonl"
COUNTS = ("found", "appended", "repeated", "native", "skipped")


def conversion(path):
    with path.open("rb") as lines:
        return READERS["claude-code"].read(lines)


def lines_of(path):
    return path.read_bytes().splitlines(keepends=True)


def test_every_message_goes_in_once_in_order(cli, rest, project):
    answer = cli.json("push", SAMPLE, "--project", project)
    messages = rest.messages(answer["session_id"])
    assert [message["append_id"] for message in messages] == [message.append_id for message in conversion(SAMPLE).messages]
    assert [message["seq"] for message in messages] == sorted(message["seq"] for message in messages)
    assert {message["metadata"]["agent_source"] for message in messages} == {"claude-code"}


def test_what_was_found_is_what_became_of_it(cli, project):
    answer = cli.json("push", SAMPLE, "--project", project)
    assert {name: answer[name] for name in COUNTS} == {"found": 20, "appended": 17, "repeated": 0, "native": 3, "skipped": 0}
    again = cli.json("push", SAMPLE, "--project", project)
    assert {name: again[name] for name in COUNTS} == {"found": 20, "appended": 0, "repeated": 17, "native": 3, "skipped": 0}


def test_pushing_again_adds_nothing_to_the_log(cli, rest, project):
    first = cli.json("push", SAMPLE, "--project", project)
    before = rest.head()
    again = cli.json("push", SAMPLE, "--project", project)
    assert (again["session_id"], rest.head()) == (first["session_id"], before)


def test_pushing_again_from_another_place_adds_nothing(cli, rest, project, tmp_path):
    cli.json("push", SAMPLE, "--project", project)
    before = rest.head()
    copy = shutil.copy(SAMPLE, tmp_path / "a copy under another name.jsonl")
    cli.json("push", copy, "--project", project)
    assert rest.head() == before


def test_a_session_that_has_grown_gets_what_is_new(cli, rest, project, tmp_path):
    path, lines = tmp_path / "growing.jsonl", lines_of(SAMPLE)
    path.write_bytes(b"".join(lines[:9]))
    first = cli.json("push", path, "--project", project)
    path.write_bytes(b"".join(lines))
    second = cli.json("push", path, "--project", project)
    assert (second["session_id"], second["repeated"], second["appended"]) == (first["session_id"], first["appended"], 10)
    messages = [message["append_id"] for message in rest.messages(first["session_id"])]
    assert messages == [message.append_id for message in conversion(SAMPLE).messages]


def test_title_and_place_become_meta_and_follow_the_file(cli, rest, project, tmp_path):
    path, lines = tmp_path / "titled.jsonl", lines_of(SAMPLE)
    path.write_bytes(b"".join(lines[:9]))
    cli.json("push", path, "--project", project)
    assert "loses the last lap" in rest.sessions(project)[0]["meta"]["title"]
    path.write_bytes(b"".join(lines))
    cli.json("push", path, "--project", project)
    meta = rest.sessions(project)[0]["meta"]
    assert (meta["title"], meta["cwd"]) == ("Fix the lap that is lost at a hand-over", "/home/ann/relay")
    assert meta["native_session_id"] == "7a5c0e1d-4b6f-4d8a-9a57-0c1f5e3d2b19"


def test_after_a_new_epoch_everything_is_offered_again_and_nothing_added(cli, project):
    cli.json("push", SAMPLE, "--project", project)
    cli.out("log", "new-epoch")
    again = cli.json("push", SAMPLE, "--project", project)
    assert (again["appended"], again["repeated"], again["skipped"]) == (0, 17, 0)


def test_a_rewind_becomes_a_fork_and_what_was_there_stays(cli, rest, project, tmp_path):
    path, lines = tmp_path / "rewound.jsonl", lines_of(SAMPLE)
    path.write_bytes(b"".join(lines))
    first = cli.json("push", path, "--project", project)
    other = json.loads(lines[3]) | {"uuid": "00000000-0000-4000-9000-000000000099", "timestamp": "2026-11-28T10:00:00.000Z"}
    path.write_bytes(b"".join(lines) + json.dumps(other).encode() + b"\n")
    second = cli.json("push", path, "--project", project)
    assert "a rewind" in second["sessions"][0]["notes"][0]
    assert second["appended"] == 1
    assert len(rest.messages(first["session_id"])) == 17
    live = {message.append_id for message in conversion(path).messages}
    assert {message["append_id"] for message in rest.messages(second["session_id"])} == live
    assert cli.json("push", path, "--project", project)["session_id"] == second["session_id"], "the agent's id means the newest"


def test_a_file_whose_past_was_changed_is_refused_with_what_to_do(cli, project, tmp_path):
    path, lines = tmp_path / "changed.jsonl", lines_of(SAMPLE)
    path.write_bytes(b"".join([*lines[:7], *lines[8:]]))  # without the progress line, an answer's parent is another one
    cli.json("push", path, "--project", project)
    path.write_bytes(b"".join(lines))
    refused = cli.run("push", path, "--project", project)
    assert refused.returncode == 1
    assert "[append_id_reused]" in refused.stderr
    assert "changed after it was brought in" in refused.stderr


def test_sub_agents_are_sessions_of_their_own_that_name_their_parent(cli, rest, project, corpus):
    path = corpus / "claude-code" / "258c7280-ae70-4798-800f-63464d01a85d.jsonl"
    answer = cli.json("push", path, "--project", project)
    parent, *children = answer["sessions"]
    assert [child["native_session_id"] for child in children] == ["agent-a881341", "agent-acompact-fffbd0"]
    metas = {one["session_id"]: one["meta"] for one in rest.sessions(project)}
    assert {metas[child["session_id"]]["parent_session_id"] for child in children} == {parent["session_id"]}
    assert metas[children[0]["session_id"]]["subagent"]["tool_use_id"] == "toolu_01VmaERAwhb19LGUwu9GenaK"


def test_a_sub_agent_pushed_by_itself_is_the_same_session(cli, project, corpus):
    path = corpus / "claude-code" / "258c7280-ae70-4798-800f-63464d01a85d.jsonl"
    whole = cli.json("push", path, "--project", project)["sessions"]
    alone = cli.json("push", path.with_suffix("") / "subagents" / "agent-a881341.jsonl", "--project", project)
    assert alone["session_id"] == whole[1]["session_id"]
    assert alone["appended"] == 0


def test_each_session_of_the_corpus_goes_in_whole_and_only_once(cli, rest, project, corpus):
    paths = sorted((corpus / "claude-code").rglob("*.jsonl"))
    for path in paths:
        expected = [message.append_id for message in conversion(path).messages]
        session_id = cli.json("push", path, "--project", project)["session_id"]
        assert [message["append_id"] for message in rest.messages(session_id)] == expected
    before = rest.head()
    again = [cli.json("push", path, "--project", project) for path in paths]
    assert {(one["appended"], one["skipped"]) for one in again} == {(0, 0)}
    assert rest.head() == before


def test_one_who_tails_from_another_process_has_what_one_reads_afterwards(cli, project, corpus, start):
    path = corpus / "claude-code" / "258c7280-ae70-4798-800f-63464d01a85d.jsonl"
    beginning = cli.home / path.name
    beginning.write_bytes(b"".join(lines_of(path)[:20]))
    session_id = cli.json("push", beginning, "--project", project)["session_id"]
    tail = start(cli, "tail", session_id, "--json")
    first = tail.stdout.readline()  # it follows
    cli.json("push", path, "--project", project)
    read = cli.out("show", session_id, "--json").splitlines(keepends=True)
    assert len(read) >= len(conversion(path).messages)
    assert [first, *(tail.stdout.readline() for _ in read[1:])] == read


def test_the_mapping_report_is_written_one_session_a_line(cli, project, tmp_path):
    answer = cli.json("push", SAMPLE, "--project", project, "--report", tmp_path / "report.jsonl")
    (report,) = map(json.loads, (tmp_path / "report.jsonl").read_text("utf-8").splitlines())
    assert report["session_id"] == answer["session_id"]
    assert report["counts"]["lines"] == {"found": 20, "converted": 17, "degraded": 0, "kept_native": 3, "dropped": 0}


def test_a_secret_is_taken_out_on_the_way_and_counted(cli, project, tmp_path):
    path = tmp_path / "secret.jsonl"
    path.write_bytes(SAMPLE.read_bytes().replace(b"2 passed in 0.02s", b"AKIA" + b"QWERTYUIOPASDFGH"))
    answer = cli.json("push", path, "--project", project)
    assert sum(answer["sessions"][0]["redactions"].values()) > 0
    assert "AKIA" not in cli.out("show", answer["session_id"], "--full")
    again = cli.json("push", path, "--project", project)
    assert (again["appended"], again["repeated"]) == (0, 17)


def test_a_message_over_the_limit_is_left_out_and_its_neighbours_go_in(shared_database, cli, project, tmp_path):
    path, lines = tmp_path / "large.jsonl", lines_of(SAMPLE)
    large = json.loads(lines[11])
    large["message"]["content"] = [{"type": "text", "text": "large " * 2000}]
    lines[11] = json.dumps(large).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    with running_hub(shared_database, message_bytes_max=10_000, request_messages_max=4) as small:
        done = cli.run("push", path, "--project", project, "--json", TASUKI_URL=small.url, TASUKI_TOKEN=small.token)
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert (answer["found"], answer["appended"], answer["skipped"]) == (20, 16, 1)
    assert "[too_large]" in answer["sessions"][0]["skipped_reasons"][0]["reason"]
    healed = cli.json("push", path, "--project", project)
    assert (healed["appended"], healed["repeated"], healed["skipped"]) == (1, 16, 0)


def test_what_is_no_session_is_refused_with_what_could_be(cli, project, tmp_path):
    (tmp_path / "notes.txt").write_text("not a session\n")
    refused = cli.run("push", tmp_path / "notes.txt", "--project", project)
    assert (refused.returncode, "claude-code" in refused.stderr) == (1, True)
    assert cli.run("push", tmp_path / "away.jsonl", "--project", project).returncode == 2
    assert cli.run("push", tmp_path, "--project", project).returncode == 2
    assert cli.run("push", SAMPLE).returncode == 2


@pytest.fixture
def store(cli, tmp_path):
    """A store of Claude Code with one session, and things beside it that are none."""
    folder = tmp_path / "claude" / "projects" / "-home-ann-relay"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLE, folder / "7a5c0e1d-4b6f-4d8a-9a57-0c1f5e3d2b19.jsonl")
    (folder / "00000000-0000-4000-8000-0000000000aa.jsonl").write_bytes(b"")
    (folder / "00000000-0000-4000-8000-0000000000bb").mkdir()
    cli.env["CLAUDE_CONFIG_DIR"] = str(tmp_path / "claude")
    return folder


def test_a_session_is_found_by_the_agents_own_id(cli, project, store):
    assert cli.json("push", "7a5c0e1d-4b6f-4d8a-9a57-0c1f5e3d2b19", "--project", project)["appended"] == 17


def test_an_id_that_no_agent_knows_is_answered_with_where_was_looked(cli, project, store):
    refused = cli.run("push", "00000000-0000-4000-8000-0000000000cc", "--project", project)
    assert (refused.returncode, str(store.parent) in refused.stderr) == (1, True)
    gone = cli.run("push", "00000000-0000-4000-8000-0000000000bb", "--project", project)
    assert "cleanupPeriodDays" in gone.stderr


def test_all_pushes_what_there_is_and_says_what_it_left_out(cli, project, store):
    answer = cli.json("push", "--all", "--project", project)
    assert [session["appended"] for session in answer["sessions"]] == [17]
    assert len(answer["left_out"]) + len(answer["failed"]) == 2
    assert cli.json("push", "--all", "--project", project)["appended"] == 0


def test_a_report_is_never_written_over_the_session(cli, project):
    path = Path(shutil.copy(SAMPLE, cli.home / "own.jsonl"))
    done = cli.run("push", path, "--project", project, "--report", "own.jsonl")
    assert (done.returncode, "named twice" in done.stderr) == (2, True), done.stderr
    assert path.read_bytes() == SAMPLE.read_bytes()


def test_a_pipe_is_no_session_and_is_not_waited_for(cli, project):
    os.mkfifo(cli.home / "pipe.jsonl")
    done = cli.run("push", "pipe.jsonl", "--project", project)
    assert (done.returncode, "[no_such_file]" in done.stderr) == (2, True), done.stderr
