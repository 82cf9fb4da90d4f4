"""`tasuki push` out of Gemini CLI's store: by the agent's id, all that is new, what grew, and sub-agents."""

import json
import shutil
import signal
import time
from pathlib import Path

import pytest

from adapters.gemini.reader import read

SAMPLES = Path(__file__).parent.parent / "samples" / "gemini"
WAIT_S = 40
SESSION = "6b1f0c5e-2f53-4b0e-9a55-0d8f3c1a7e21"
TURNS = 12  # messages of the sample `turns`


@pytest.fixture
def chats(cli) -> Path:
    """The folder of a project's sessions, with one in it."""
    folder = cli.home / ".gemini" / "tmp" / "relay" / "chats"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLES / "turns.jsonl", folder / f"session-2026-11-30T07-20-{SESSION[:8]}.jsonl")
    return folder


def second_file(chats: Path) -> Path:
    """What a resume leaves: the harness's own context, under the session's id, in a newer file."""
    lines = (SAMPLES / "turns.jsonl").read_bytes().splitlines(keepends=True)[:2]
    path = chats / f"session-2026-11-30T09-00-{SESSION[:8]}.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def test_a_session_is_found_by_its_id_though_a_resume_left_a_second_file(cli, rest, project, chats):
    second_file(chats)
    answer = cli.json("push", SESSION, "--project", project)
    assert (answer["appended"], answer["sessions"][0]["native_session_id"]) == (TURNS, SESSION)
    told = rest.messages(answer["session_id"])
    assert [message["append_id"] for message in told] == [
        message.append_id for message in read((SAMPLES / "turns.jsonl").read_bytes().splitlines(keepends=True)).messages
    ]
    again = cli.json("push", SESSION, "--project", project)
    assert (again["session_id"], again["appended"]) == (answer["session_id"], 0)


def test_all_takes_each_session_once_and_none_in_which_nothing_was_said(cli, project, chats):
    second_file(chats)
    empty = second_file(chats)
    text = empty.read_text().replace(SESSION, "00000000-0000-4000-8000-000000000000")
    (chats / "session-2026-11-30T09-01-00000000.jsonl").write_text(text)
    answer = cli.json("push", "--all", "--agent", "gemini", "--project", project)
    assert [one["native_session_id"] for one in answer["sessions"]] == [SESSION]
    assert (answer["failed"], answer["left_out"]) == ([], [])


def test_a_session_that_was_resumed_and_went_on_adds_what_is_new(cli, project, chats):
    path = next(chats.iterdir())
    first = cli.json("push", SESSION, "--project", project)
    shutil.copy(SAMPLES / "resumed.jsonl", path)
    again = cli.json("push", SESSION, "--project", project)
    assert (again["session_id"], again["appended"], again["skipped"]) == (first["session_id"], 2, 0)


def test_a_rewind_goes_on_in_a_fork(cli, rest, project, chats):
    path = next(chats.iterdir())
    first = cli.json("push", SESSION, "--project", project)
    shutil.copy(SAMPLES / "rewound.jsonl", path)
    again = cli.json("push", SESSION, "--project", project)
    assert again["session_id"] != first["session_id"]
    contents = [message["content"] for message in rest.messages(again["session_id"])]
    assert contents[-2:] == ["Who wears it next?", "The runner after you."]
    assert "See @sash.png" not in json.dumps(contents)


def test_a_sub_agents_session_comes_along_with_the_call_that_started_it(cli, rest, project, chats):
    path = next(chats.iterdir())
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    next(line for line in lines if line.get("toolCalls"))["toolCalls"][0]["agentId"] = "scout-1"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    child = [lines[0] | {"sessionId": "scout-1", "kind": "subagent"}, lines[2] | {"id": "c"}]
    (chats / SESSION).mkdir()
    (chats / SESSION / "scout-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in child))
    parent, started = cli.json("push", SESSION, "--project", project)["sessions"]
    metas = {one["session_id"]: one["meta"] for one in rest.sessions(project)}
    link = metas[started["session_id"]]["subagent"]
    assert link == {
        "agent_id": "scout-1",
        "parent_session_id": SESSION,
        "tool_use_id": "run_shell_command__run_shell_command_1796023232481_0",
    }
    assert metas[started["session_id"]]["parent_session_id"] == parent["session_id"]


def test_a_home_elsewhere_is_named_by_the_agents_own_setting(cli, project, chats):
    (cli.home / "elsewhere").mkdir()
    (cli.home / ".gemini").rename(cli.home / "elsewhere" / ".gemini")
    cli.env["GEMINI_CLI_HOME"] = str(cli.home / "elsewhere")
    assert cli.json("push", SESSION, "--project", project)["appended"] == TURNS


def test_one_that_is_nowhere_is_told_where_was_looked(cli, project, chats):
    done = cli.run("push", "00000000-0000-4000-8000-000000000000", "--agent", "gemini", "--project", project)
    assert done.returncode != 0
    assert "1 files were looked at" in done.stderr


@pytest.mark.parametrize("name", ["resumed", "compressed"])
def test_one_that_is_followed_adds_each_message_once_however_often_it_is_told(cli, rest, project, start, chats, name):
    """Line by line, with a look at the hub in between: replies that grow, a resume or a compression that tells all again."""
    path = next(chats.iterdir())
    whole = (SAMPLES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:3]))
    follower = start(cli, "push", "--follow", SESSION, "--project", project)
    wanted: list[str] = []
    for end in range(4, len(whole) + 1):
        with path.open("ab") as file:
            file.write(whole[end - 1])
        wanted += [message.append_id for message in read(whole[:end]).messages if message.append_id not in wanted]
        _until_there(rest, project, wanted, follower)
    _end(follower)
    _nothing_is_left(cli, rest, project)


def test_words_are_there_at_once_and_once_though_the_session_rests_before_the_calls_are_done(cli, rest, project, start, chats):
    path = next(chats.iterdir())
    whole = path.read_bytes().splitlines(keepends=True)
    said, called = [at for at, line in enumerate(whole) if b'"content":"I look at it."' in line]
    path.write_bytes(b"".join(whole[:said]))
    wanted = [message.append_id for message in read(whole).messages]
    count = len(read(whole[: said + 1]).messages)
    follower = start(cli, "push", "--follow", SESSION, "--project", project)
    _until_there(rest, project, wanted[: count - 1], follower)
    with path.open("ab") as file:
        file.write(b"".join(whole[said:called]))
    _until_there(rest, project, wanted[:count], follower)
    assert _mark(rest, project).get("messages") != count, "only when it rested"
    _until(lambda: _mark(rest, project).get("messages") == count, "it did not rest", follower)
    with path.open("ab") as file:
        file.write(b"".join(whole[called : called + 1]))  # killed here, its results not told again
    _until_there(rest, project, wanted[: count + 2], follower)
    _end(follower)
    _nothing_is_left(cli, rest, project)


def _mark(rest, project):
    (session,) = rest.call("GET", f"/v1/sessions?project_id={project}")["sessions"]
    return session["meta"].get("pushed", {})


def _end(follower):
    follower.send_signal(signal.SIGINT)
    assert "Traceback" not in follower.communicate(timeout=WAIT_S)[1]


def _nothing_is_left(cli, rest, project):
    """A push has nothing to add, and nothing was taken for a rewind."""
    assert cli.json("push", SESSION, "--project", project)["appended"] == 0
    assert len(rest.call("GET", f"/v1/sessions?project_id={project}")["sessions"]) == 1


def _until_there(rest, project, wanted, follower):
    """Wait until the project's only session holds exactly these messages."""

    def holds():
        sessions = rest.call("GET", f"/v1/sessions?project_id={project}")["sessions"]
        page = rest.call("GET", f"/v1/sessions/{sessions[0]['session_id']}?limit=1000") if sessions else {"messages": []}
        return [message["append_id"] for message in page["messages"]] == wanted

    _until(holds, f"{len(wanted)} messages did not come", follower)


def _until(holds, what, follower):
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert follower.poll() is None, follower.communicate()
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
