"""`tasuki push` out of Codex's store and `tasuki pull --install` into it: by id, all of it, what grew, and there and back."""

import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from rollouts import THREAD, assistant, call, event, item, meta, result, rollout, user

from adapters.codex.reader import read
from adapters.codex.validator import problems

NAME = f"rollout-2026-11-29T10-00-00-{THREAD}.jsonl"
CHILD = "22222222-2222-4222-8222-222222222222"
LINES = [meta(), event("task_started"), user("Run both."), call("c1"), call("c2", name="spawn_agent")]
LINES += [result("c1", "ran"), result("c2", json.dumps({"agent_id": CHILD})), assistant("Done.")]


@pytest.fixture
def day(cli) -> Path:
    """The folder of a day's sessions, with one in it."""
    folder = cli.home / ".codex" / "sessions" / "2026" / "11" / "29"
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(b"".join(rollout(*LINES)))
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def add(path: Path, *lines: dict[str, Any]) -> None:
    with path.open("ab") as file:
        file.write(b"".join(rollout(*lines)))


def of_claude_code(cli: Any, project: str) -> str:
    """The hub's id of a session of Claude Code."""
    shutil.copy(Path(__file__).parents[1] / "samples" / "claude_code" / "parallel.jsonl", cli.home / "in.jsonl")
    return str(cli.json("push", cli.home / "in.jsonl", "--project", project)["session_id"])


def contents(rest: Any, session: str) -> list[Any]:
    return [message["content"] for message in rest.messages(session)]


def rollouts_in(cli: Any) -> list[Path]:
    return sorted((cli.home / ".codex").rglob("rollout-*.jsonl"))


def test_a_session_is_found_by_its_id_and_adds_what_is_new(cli, project, day):
    first = cli.json("push", THREAD, "--project", project)
    assert (first["appended"], first["sessions"][0]["native_session_id"]) == (6, THREAD)
    add(day / NAME, user("And now?"), assistant("All is well."))
    again = cli.json("push", THREAD, "--project", project)
    assert (again["session_id"], again["appended"]) == (first["session_id"], 2)
    assert cli.json("push", THREAD, "--project", project)["appended"] == 0


def test_all_takes_every_session_archived_ones_too_and_sub_agents_with_the_call_that_started_them(cli, rest, project, day):
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    (day / f"rollout-2026-11-29T10-00-05-{CHILD}.jsonl").write_bytes(
        b"".join(rollout(meta(id=CHILD, source=spawn), user("Look."), assistant("Seen.")))
    )
    other = "33333333-3333-4333-8333-333333333333"
    archive = cli.home / ".codex" / "archived_sessions"
    archive.mkdir()
    (archive / f"rollout-2026-11-01T10-00-00-{other}.jsonl").write_bytes(b"".join(rollout(meta(id=other), user("Old."))))
    answer = cli.json("push", "--all", "--agent", "codex", "--project", project)
    assert {one["native_session_id"] for one in answer["sessions"]} == {THREAD, CHILD, other}
    assert (answer["failed"], answer["left_out"]) == ([], [])
    metas = [one["meta"] for one in rest.sessions(project)]
    [link] = [one["subagent"] for one in metas if "subagent" in one]
    assert link == {"agent_id": CHILD, "parent_session_id": THREAD, "tool_use_id": "c2"}


def test_a_turn_that_was_taken_back_goes_on_in_a_fork(cli, rest, project, day):
    add(day / NAME, event("task_started"), user("A wrong way."), assistant("Gone there."))
    first = cli.json("push", THREAD, "--project", project)
    add(day / NAME, event("thread_rolled_back", num_turns=1), event("task_started"), user("Another way."))
    again = cli.json("push", THREAD, "--project", project)
    assert again["session_id"] != first["session_id"]
    assert contents(rest, again["session_id"])[-2:] == ["Done.", "Another way."]


def test_a_running_session_is_followed_and_a_rollback_goes_on_in_a_fork(cli, rest, project, day, start):
    follower = start(cli, "push", "--follow", day / NAME, "--project", project)

    def newest() -> list[Any]:
        sessions = rest.call("GET", f"/v1/sessions?project_id={project}")["sessions"]
        page = rest.call("GET", f"/v1/sessions/{sessions[0]['session_id']}") if sessions else {"messages": []}
        return [len(sessions), *(message["content"] for message in page["messages"][-2:])]

    def comes(wanted: list[Any]) -> bool:
        deadline = time.monotonic() + 40
        while newest() != wanted and time.monotonic() < deadline:
            assert follower.poll() is None, follower.communicate()
            time.sleep(0.05)
        return newest() == wanted

    assert comes([1, json.dumps({"agent_id": CHILD}), "Done."])
    add(day / NAME, event("task_started"), user("A wrong way."))
    assert comes([1, "Done.", "A wrong way."])
    add(day / NAME, event("thread_rolled_back", num_turns=1), event("task_started"), user("Another way."))
    assert comes([2, "Done.", "Another way."])
    follower.send_signal(signal.SIGINT)
    _, errors = follower.communicate(timeout=40)
    assert (follower.returncode, errors.count("Traceback")) == (0, 0)


def test_home_it_goes_to_where_it_was_and_is_there_already(cli, project, day, work):
    session = cli.json("push", THREAD, "--project", project)["session_id"]
    moved = day.with_name("28")
    day.rename(moved)  # as where the day on the agent's clock is another one than in UTC
    before = (moved / NAME).read_bytes()
    cwd = work.parent / "relay"
    cwd.mkdir()
    told = cli.json("pull", session, "--to", "codex", "-o", cli.home / "out.jsonl")
    assert (cli.home / "out.jsonl").read_bytes() == before
    assert told["written"]["warnings"] == []
    done = cli.run("pull", session, "--to", "codex", "--install", "--cwd", cwd)
    assert (done.returncode, "[session_in_the_way]" in done.stderr) == (1, True), "with another folder it is another file"
    assert rollouts_in(cli) == [moved / NAME]
    assert (moved / NAME).read_bytes() == before


def test_a_session_of_another_agent_is_installed_gone_on_with_and_brought_back(cli, rest, project, work):
    session = of_claude_code(cli, project)
    said = contents(rest, session)
    told = cli.json("pull", session, "--to", "codex", "--install", "--cwd", work, "--model", "local/large")
    native_id = told["native_session_id"]
    assert told["command"] == ["codex", "resume", native_id]
    [path] = rollouts_in(cli)
    assert path.name.endswith(f"-{native_id}.jsonl")
    assert problems(path.read_bytes().splitlines(keepends=True)) == []
    assert json.loads(path.read_text("utf-8").splitlines()[0])["payload"]["model_provider"] == "local"
    assert cli.json("pull", session, "--to", "codex", "--install", "--cwd", work, "--model", "local/large")["was_there"] is True
    add(path, event("task_started"), user("Go on."), assistant("I did."))
    back = cli.json("push", native_id, "--project", project)
    assert (back["session_id"], back["appended"]) == (session, 2)
    assert contents(rest, session) == [*said, "Go on.", "I did."]
    assert cli.json("push", native_id, "--project", project)["appended"] == 0
    assert "[gone_on]" in cli.run("pull", session, "--to", "codex", "--undo").stderr


def test_a_session_of_codex_goes_through_another_agent_and_comes_home_and_on(cli, rest, project, day, work):
    lines = [line | {"ordinal": number} for number, line in enumerate([*LINES, event("task_complete")])]
    (day / NAME).write_bytes(b"".join(rollout(*lines)))
    session = cli.json("push", THREAD, "--project", project)["session_id"]
    rest.append(session, {"role": "assistant", "content": "from elsewhere", "metadata": {"agent_source": "hermes"}})
    (day / NAME).unlink()  # another host, where the session is not
    told = cli.json("pull", session, "--to", "codex", "--install", "--cwd", work)
    assert told["native_session_id"] == THREAD
    [path] = rollouts_in(cli)
    there = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line["ordinal"] for line in there] == list(range(len(there)))
    add(path, event("task_started") | {"ordinal": len(there)}, user("Go on.") | {"ordinal": len(there) + 1})
    back = cli.json("push", THREAD, "--project", project)
    assert (back["session_id"], back["appended"]) == (session, 1)
    assert contents(rest, session)[-3:] == ["Done.", "from elsewhere", "Go on."]


def test_undo_leaves_no_trace(cli, project, work):
    session = of_claude_code(cli, project)
    cli.json("pull", session, "--to", "codex", "--install", "--cwd", work)
    assert len(rollouts_in(cli)) == 1
    assert cli.json("pull", session, "--to", "codex", "--undo")["undone"] is True
    assert not (cli.home / ".codex" / "sessions").exists()


def test_an_environment_says_where_the_store_is(cli, rest, project, day, work):
    session = cli.json("push", THREAD, "--project", project)["session_id"]
    place = cli.home / "elsewhere"
    cli.out("pull", session, "--to", "codex", "--install", "--cwd", work, CODEX_HOME=str(place))
    [path] = place.rglob("rollout-*.jsonl")
    assert path.relative_to(place).as_posix() == f"sessions/2026/11/29/{NAME}"
    assert [m.body["content"] for m in read(path.read_bytes().splitlines(keepends=True)).messages] == contents(rest, session)
    done = cli.run("push", item("x")["type"], "--agent", "codex", "--project", project, CODEX_HOME=str(place))
    assert (done.returncode, "1 files were looked at" in done.stderr) == (1, True)
