"""Into the database of an agent that has one: row by row beside others, never while it is open, never into a strange one."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from installing import DATABASES, ROOT, installed, refused, rows, store_of


def another_session(cli: Any, rest: Any, project: str, agent: str, work: Path) -> str:
    """Give an agent a store with a session in it that is not the one under test; return the hub's id of that one."""
    other = str(rest.bring(ROOT / "cli" / "samples" / "relay-timer.jsonl", project))
    installed(cli, other, agent, work)
    return other


@pytest.mark.parametrize("agent", DATABASES)
def test_beside_others_it_goes_in_and_out_row_by_row(cli, rest, session, project, work, agent):
    another_session(cli, rest, project, agent, work)
    before = rows(store_of(cli, agent))
    told = installed(cli, session, agent, work)
    after = rows(store_of(cli, agent))
    assert len(after["session" if agent == "opencode" else "sessions"]) == 2
    assert {name: [row for row in after[name] if row in before[name]] for name in after} == before, "the other stays as it was"
    cli.out("pull", told["native_session_id"], "--to", agent, "--undo")
    assert rows(store_of(cli, agent)) == before


@pytest.mark.parametrize("agent", DATABASES)
def test_a_store_that_the_agent_has_open_is_left_alone(cli, rest, session, project, work, agent):
    another_session(cli, rest, project, agent, work)
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


def test_a_database_that_holds_more_than_what_made_it_stays_when_that_is_taken_out(cli, rest, session, project, work):
    another = another_session(cli, rest, project, "opencode", work)
    installed(cli, session, "opencode", work)
    cli.out("pull", another, "--to", "opencode", "--undo")
    assert len(rows(store_of(cli, "opencode"))["session"]) == 1
