"""`tasuki push --follow`: what an agent says is in the hub as it is said, once, whatever happens to file, follower or hub."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hubs import HubProcess

from adapters.registry import READERS
from cli.containers_hermes import write_database as write_hermes
from cli.containers_opencode import read_container, write_container
from eventstore.wire.codec import parse

SAMPLE = Path(__file__).resolve().parents[2] / "cli" / "samples" / "relay-timer.jsonl"
SAMPLES = Path(__file__).parent.parent / "samples"
LINES = SAMPLE.read_bytes().splitlines(keepends=True)
WAIT_S = 40
WRITER = """
import random, sys
path, source, seed = sys.argv[1:]
chance = random.Random(int(seed))
data = open(source, "rb").read()
with open(path, "ab", buffering=0) as file:
    at = file.tell()
    while at < len(data):
        size = chance.choice([1, 7, 300, 4000])
        file.write(data[at : at + size])
        at += size
"""


def append_ids(rest, session_id):
    return [message["append_id"] for message in rest.messages(session_id)]


def expected(path: Path, agent: str = "claude-code"):
    return [message.append_id for message in READERS[agent].read(path.read_bytes().splitlines(keepends=True)).messages]


def until(condition, what: str, process=None):
    """Wait for the thing itself, with a deadline."""
    deadline = time.monotonic() + WAIT_S
    while not (found := condition()):
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return found


def newest(rest, project):
    """The hub's id of the project's newest session, and how many there are."""
    sessions = rest.call("GET", f"/v1/sessions?project_id={project}")["sessions"]
    return (max(one["seq"] for one in sessions) and sessions[0]["session_id"], len(sessions)) if sessions else ("", 0)


def ids_in(rest, session_id):
    page = rest.call("GET", f"/v1/sessions/{session_id}?limit=1000")
    return [message["append_id"] for message in page["messages"]]


def until_there(rest, project, wanted, process):
    """Wait until the project's newest session holds exactly these messages; return its id."""

    def holds():
        session_id, _ = newest(rest, project)
        return session_id if session_id and ids_in(rest, session_id) == wanted else ""

    return until(holds, f"{len(wanted)} messages did not come", process)


def end(process) -> str:
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=WAIT_S)
    assert (process.returncode, "Traceback" in errors) == (0, False), errors
    return out


@pytest.fixture
def path(cli) -> Path:
    """A transcript that an agent has begun to write."""
    path = cli.home / "7a5c0e1d-4b6f-4d8a-9a57-0c1f5e3d2b19.jsonl"
    path.write_bytes(b"".join(LINES[:4]))
    return path


def test_a_line_is_there_within_a_second_and_a_torn_one_waits(cli, rest, project, path, start):
    follower = start(cli, "push", "--follow", path, "--project", project, "--json")
    session_id = until_there(rest, project, expected(path), follower)
    with path.open("ab", buffering=0) as file:
        delays: list[float] = []
        wanted: list[str] = []
        for line in LINES[4:7]:
            file.write(line[:50])
            before = ids_in(rest, session_id)
            file.write(line[50:])
            written = time.monotonic()
            wanted = expected(path)
            until_there(rest, project, wanted, follower)
            delays.append(time.monotonic() - written)
            assert before != wanted
        file.write(LINES[8][:-20])
        file.write(b"")
        time.sleep(1)  # nothing comes that could be waited for
        assert ids_in(rest, session_id) == wanted
        file.write(LINES[8][-20:])
    until_there(rest, project, expected(path), follower)
    assert min(delays) < 1
    end(follower)


def test_what_is_no_message_is_there_when_it_ends_and_a_push_has_nothing_to_add(cli, rest, project, path, start):
    follower = start(cli, "push", "--follow", path, "--project", project)
    until_there(rest, project, expected(path), follower)
    path.write_bytes(b"".join(LINES))
    until_there(rest, project, expected(path), follower)
    end(follower)
    before = rest.head()
    answer = cli.json("push", path, "--project", project)
    assert (answer["appended"], answer["native"], rest.head()) == (0, 3, before)


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_and_started_again_while_a_writer_tears_lines_each_message_is_there_once(cli, rest, project, path, start, seed):
    source = cli.home / "whole.jsonl"
    source.write_bytes(b"".join(LINES))
    follower = start(cli, "push", "--follow", path, "--project", project)
    for _ in range(2):
        until(lambda: newest(rest, project)[0], "no session came", follower)
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(source), str(seed)])
        time.sleep(0.05)
        writer.kill()  # at any place of any line
        writer.wait()
        follower.kill()
        follower.communicate()
        follower = start(cli, "push", "--follow", path, "--project", project)
    subprocess.run([sys.executable, "-c", WRITER, str(path), str(source), str(seed)], check=True)
    assert path.read_bytes() == source.read_bytes()
    until_there(rest, project, expected(path), follower)
    assert newest(rest, project)[1] == 1
    end(follower)


def test_a_rewind_becomes_a_fork_that_the_agents_id_means_from_then_on(cli, rest, project, path, start):
    path.write_bytes((SAMPLES / "claude_code" / "rewind.jsonl").read_bytes())
    lines = path.read_bytes().splitlines(keepends=True)
    cut = next(at for at in range(1, len(lines)) if gone(lines[: at + 1], lines[:at]))
    path.write_bytes(b"".join(lines[:cut]))
    follower = start(cli, "push", "--follow", path, "--project", project)
    first = until_there(rest, project, expected(path), follower)
    before = ids_in(rest, first)
    with path.open("ab") as file:
        file.write(b"".join(lines[cut:]))
    fork = until_there(rest, project, expected(path), follower)
    assert fork != first
    assert ids_in(rest, first) == before
    end(follower)
    assert cli.json("push", path, "--project", project)["session_id"] == fork
    again = start(cli, "push", "--follow", path, "--project", project)
    last = json.loads(next(line for line in reversed(lines) if b'"uuid"' in line))
    more = last | {"uuid": "00000000-0000-4000-9000-0000000000aa", "parentUuid": last["uuid"], "type": "user", "isMeta": False}
    with path.open("a") as file:
        file.write(json.dumps(more | {"message": {"role": "user", "content": "More."}}) + "\n")
    until_there(rest, project, expected(path), again)
    assert newest(rest, project) == (fork, 2)
    end(again)


def gone(after, before) -> bool:
    """Did a line take a message back?"""
    live = {message.append_id for message in READERS["claude-code"].read(after).messages}
    return any(message.append_id not in live for message in READERS["claude-code"].read(before).messages)


def test_a_compaction_is_no_rewind(cli, rest, project, path, start):
    lines = (SAMPLES / "claude_code" / "compaction.jsonl").read_bytes().splitlines(keepends=True)
    cut = next(at for at in range(1, len(lines)) if gone(lines[: at + 1], lines[:at]))
    path.write_bytes(b"".join(lines[:cut]))
    follower = start(cli, "push", "--follow", path, "--project", project)
    before = expected(path)
    until_there(rest, project, before, follower)
    path.write_bytes(b"".join(lines))
    until_there(rest, project, [*before, *(one for one in expected(path) if one not in before)], follower)
    assert newest(rest, project)[1] == 1
    end(follower)


def test_a_file_that_is_cut_or_replaced_is_read_anew_and_forks_where_it_differs(cli, rest, project, path, start):
    follower = start(cli, "push", "--follow", path, "--project", project)
    path.write_bytes(b"".join(LINES[:9]))
    first = until_there(rest, project, expected(path), follower)
    path.write_bytes(b"".join(LINES[:4]))
    with path.open("ab") as file:
        other = json.loads(LINES[4])
        other["uuid"] = "00000000-0000-4000-9000-0000000000bb"
        file.write(json.dumps(other).encode() + b"\n")
    fork = until_there(rest, project, expected(path), follower)
    assert fork != first
    new = path.with_suffix(".new")
    new.write_bytes(path.read_bytes().replace(b"4000-9000-0000000000", b"4000-9000-0000000001"))
    new.replace(path)
    other_session = until_there(rest, project, expected(path), follower)
    assert other_session not in (first, fork)
    end(follower)


def test_a_hub_that_is_away_is_waited_for_with_a_word(cli_of, rest_of, module_database, project, tmp_path, start):
    data = tmp_path / "hub"
    data.mkdir()
    hub = HubProcess(module_database, data).start()
    port = int(hub.url.rpartition(":")[2])
    cli, rest = cli_of(tmp_path, hub.url, hub.token), rest_of(hub)
    path = tmp_path / SAMPLE.name
    path.write_bytes(b"".join(LINES[:4]))
    follower = start(cli, "push", "--follow", path, "--project", project)
    until_there(rest, project, expected(path), follower)
    hub.kill()
    path.write_bytes(b"".join(LINES))
    assert "Waiting for it" in follower.stderr.readline()
    again = HubProcess(module_database, data, port).start()
    until_there(rest, project, expected(path), follower)
    end(follower)
    again.kill()


def test_a_hub_that_was_never_there_is_an_error_at_once(cli_of, tmp_path):
    path = tmp_path / SAMPLE.name
    path.write_bytes(SAMPLE.read_bytes())
    lost = cli_of(tmp_path, "http://127.0.0.1:9", "t").run("push", "--follow", path, "--project", "p")
    assert lost.returncode == 3


def test_all_finds_sessions_that_begin_and_their_sub_agents(cli, rest, project, start):
    folder = cli.home / ".claude" / "projects" / "-home-ann-relay"
    folder.mkdir(parents=True)
    follower = start(cli, "push", "--follow", "--all", "--project", project)
    path = folder / "7a5c0e1d-4b6f-4d8a-9a57-0c1f5e3d2b19.jsonl"
    path.write_bytes(SAMPLE.read_bytes())
    parent = until_there(rest, project, expected(path), follower)
    child = folder / path.stem / "subagents" / "agent-a1.jsonl"
    child.parent.mkdir(parents=True)
    child.write_bytes((SAMPLES / "claude_code" / "agent-a1.jsonl").read_bytes())
    child_id = until_there(rest, project, expected(child), follower)
    assert rest.call("GET", f"/v1/sessions/{child_id}/lineage")["meta"]["parent_session_id"] == parent
    end(follower)


def test_a_store_that_cannot_be_read_is_told_and_stops_no_other(cli, rest, project, start):
    (cli.home / ".hermes").mkdir()
    (cli.home / ".hermes" / "state.db").write_bytes(b"SQLite format 3\x00 but torn")
    folder = cli.home / ".claude" / "projects" / "-home-ann-relay"
    folder.mkdir(parents=True)
    path = folder / "7a5c0e1d-4b6f-4d8a-9a57-0c1f5e3d2b19.jsonl"
    path.write_bytes(SAMPLE.read_bytes())
    follower = start(cli, "push", "--follow", "--all", "--project", project)
    assert "state.db" in follower.stderr.readline()
    until_there(rest, project, expected(path), follower)
    end(follower)


def test_a_database_of_hermes_is_read_on_and_a_rewind_forks(cli, rest, project, start):
    home = cli.home / "hermes"
    home.mkdir()
    cli.env["HERMES_HOME"] = str(home)
    row = {"role": "user", "content": "Run.", "timestamp": 1795946400.5, "session_id": "s1"}
    write_hermes(home / "state.db", [parse(json.dumps({"id": "s1", "source": "cli", "started_at": 1.0, "messages": [row]}))])
    agent = sqlite3.connect(home / "state.db", isolation_level=None)
    agent.execute("pragma journal_mode = wal")
    follower = start(cli, "push", "--follow", "s1", "--agent", "hermes", "--project", project)
    first = until(lambda: newest(rest, project)[0], "no session came", follower)

    def say(role, text):
        agent.execute("insert into messages (session_id, role, content, timestamp) values ('s1', ?, ?, 1795946401)", (role, text))

    def until_said(*texts):
        def holds():
            session_id, _ = newest(rest, project)
            return session_id if [one["content"] for one in messages(rest, session_id)] == list(texts) else ""

        return until(holds, f"{texts} did not come", follower)

    say("assistant", "Done.")
    assert until_said("Run.", "Done.") == first
    agent.execute("update messages set active = 0 where content = 'Done.'")
    say("assistant", "Done better.")
    fork = until_said("Run.", "Done better.")
    assert fork != first
    agent.execute("update messages set active = 0, compacted = 1 where content = 'Run.'")
    say("user", "[CONTEXT COMPACTION] Ran.")
    assert until_said("Run.", "Done better.", "[CONTEXT COMPACTION] Ran.") == fork
    end(follower)
    agent.close()


def messages(rest, session_id):
    return rest.call("GET", f"/v1/sessions/{session_id}?limit=1000")["messages"]


def test_a_database_of_opencode_is_read_on_and_a_revert_forks(cli, rest, project, start):
    folder = cli.home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    document = read_container(SAMPLES / "opencode" / "turns.json").document
    write_container(folder / "opencode.db", document)
    agent = sqlite3.connect(folder / "opencode.db", isolation_level=None)
    agent.execute("pragma journal_mode = wal")
    held = agent.execute(
        "select id, session_id, time_created, time_updated, data from message order by time_created, id"
    ).fetchall()
    last_id = held[-1][0]
    parts = agent.execute("select * from part where message_id = ?", (last_id,)).fetchall()
    agent.execute("delete from part where message_id = ?", (last_id,))
    agent.execute("delete from message where id = ?", (last_id,))
    follower = start(cli, "push", "--follow", document["info"]["id"], "--project", project)
    first = until(lambda: newest(rest, project)[0], "no session came", follower)
    agent.execute("insert into message values (?, ?, ?, ?, ?)", held[-1])
    for part in parts:
        agent.execute(f"insert into part values ({', '.join('?' * len(part))})", part)
    whole = [one.append_id for one in READERS["opencode"].read([(SAMPLES / "opencode" / "turns.json").read_bytes()]).messages]
    assert until_there(rest, project, whole, follower) == first
    agent.execute("delete from part where message_id = ?", (last_id,))
    agent.execute("delete from message where id = ?", (last_id,))
    data = json.loads(held[-1][4])
    new = (f"{last_id[:-4]}zzzz", held[-1][1], held[-1][2] + 5000, held[-1][3] + 5000, json.dumps(data))
    agent.execute("insert into message values (?, ?, ?, ?, ?)", new)

    def forked():
        session_id, count = newest(rest, project)
        return count == 2 and ids_in(rest, session_id)[-1].startswith(f"opencode:{new[0]}") and session_id

    assert until(forked, "no fork came", follower) != first
    end(follower)
    agent.close()


def test_one_who_has_no_right_to_write_is_told(cli, project, path):
    refused = cli.run("push", "--follow", path, "--project", project, TASUKI_TOKEN="wrong")
    assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
    assert os.path.exists(path)


@pytest.mark.parametrize("name", ["t-midtool.session.v4.jsonl.zstd", "t-midtool.v4.jsonl"])
def test_a_log_of_deepseek_harness_is_followed_as_it_stands(cli, rest, project, corpus, start, name):
    path = cli.home / name
    path.write_bytes((corpus / "dsh" / name).read_bytes())
    follower = start(cli, "push", "--follow", path, "--project", project)
    until(lambda: newest(rest, project)[0] and ids_in(rest, newest(rest, project)[0]), "no message came", follower)
    end(follower)
    assert cli.json("push", path, "--project", project)["appended"] == 0
