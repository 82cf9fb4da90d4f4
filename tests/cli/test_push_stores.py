"""`tasuki push` out of the agents' own databases: by the agent's id, all that is new, or a database that is named."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from adapters.hermes.records import ROW_COLUMNS, SESSION_COLUMNS
from adapters.opencode.reader import read_document
from cli.containers_hermes import write_database as write_hermes
from cli.containers_opencode import read_container, write_container
from eventstore.wire.codec import dump, parse

TURNS = Path(__file__).parent.parent / "samples" / "opencode" / "turns.json"
ADD = "insert into messages (session_id, role, content, timestamp) values (?, 'user', ?, 1795996999)"
SAMPLE = Path(__file__).resolve().parents[2] / "cli" / "samples" / "relay-timer.jsonl"


def hermes_session(session_id: str, *said: str, **columns: Any) -> Any:
    """A session as Hermes's database has it."""
    empty: dict[str, Any] = dict.fromkeys(SESSION_COLUMNS)
    row: dict[str, Any] = dict.fromkeys(ROW_COLUMNS)
    rows = [
        row | {"role": "assistant" if at % 2 else "user", "content": text, "timestamp": 1795996752.5 + at, "session_id": session_id}
        for at, text in enumerate(said)
    ]
    return parse(dump(empty | {"id": session_id, "source": "cli", "started_at": 1795996752.0} | columns | {"messages": rows}))


@pytest.fixture
def hermes(cli) -> Path:
    """A home of Hermes with two sessions, a sub-agent of the first, and a profile with one more."""
    home = cli.home / "hermes"
    (home / "profiles" / "night").mkdir(parents=True)
    first = hermes_session("20261130_080000_aaaaaa", "Run.", "Done.")
    child = hermes_session("20261130_080001_cccccc", "Look.", parent_session_id=first["id"], source="subagent")
    write_hermes(home / "state.db", [first, child, hermes_session("20261130_080002_bbbbbb", "Walk.", "Gone.")])
    write_hermes(home / "profiles" / "night" / "state.db", [hermes_session("20261130_080003_dddddd", "Sleep.")])
    cli.env["HERMES_HOME"] = str(home)
    return home / "state.db"


@pytest.fixture
def opencode(cli) -> Path:
    """A data folder of OpenCode with one session."""
    folder = cli.home / "share" / "opencode"
    folder.mkdir(parents=True)
    write_container(folder / "opencode.db", read_container(TURNS).document)
    cli.env["XDG_DATA_HOME"] = str(cli.home / "share")
    return folder / "opencode.db"


def append_ids(rest, session_id):
    return [message["append_id"] for message in rest.messages(session_id)]


def test_a_session_of_opencode_is_found_by_its_id(cli, rest, project, opencode):
    document = read_container(TURNS).document
    answer = cli.json("push", document["info"]["id"], "--project", project)
    assert append_ids(rest, answer["session_id"]) == [message.append_id for message in read_document(document).messages]
    again = cli.json("push", TURNS, "--project", project)
    assert (again["session_id"], again["appended"]) == (answer["session_id"], 0), "its export is the same session"


def test_a_session_of_hermes_is_found_by_its_id_with_its_sub_agent(cli, rest, project, hermes):
    answer = cli.json("push", "20261130_080000_aaaaaa", "--agent", "hermes", "--project", project)
    parent, child = answer["sessions"]
    assert (parent["appended"], child["appended"]) == (2, 1)
    metas = {one["session_id"]: one["meta"] for one in rest.sessions(project)}
    assert metas[child["session_id"]]["parent_session_id"] == parent["session_id"]


def test_all_takes_what_is_new_of_every_store_and_one_bad_one_stops_no_other(cli, project, opencode, hermes):
    (hermes.parent / "profiles" / "night" / "state.db").write_bytes(b"SQLite format 3\x00 but torn")
    folder = cli.home / ".claude" / "projects" / "-home-ann-relay"
    folder.mkdir(parents=True)
    shutil.copy(SAMPLE, folder / "7a5c0e1d-4b6f-4d8a-9a57-0c1f5e3d2b19.jsonl")
    answer = cli.json("push", "--all", "--project", project)
    assert sorted(one["agent"] for one in answer["sessions"]) == ["claude-code", "hermes", "hermes", "hermes", "opencode"]
    assert any("night" in one["reason"] for one in answer["left_out"])
    assert cli.json("push", "--all", "--project", project)["appended"] == 0
    with sqlite3.connect(hermes) as database:
        database.execute(ADD, ("20261130_080002_bbbbbb", "New."))
    grown = cli.json("push", "--all", "--project", project)
    assert (grown["appended"], grown["failed"]) == (1, [])


def test_a_row_that_sits_in_the_wal_is_read_and_the_database_is_left_as_it_was(cli, project, hermes):
    writer = sqlite3.connect(hermes)
    writer.execute("pragma journal_mode = wal")
    writer.execute(ADD, ("20261130_080002_bbbbbb", "In the wal."))
    writer.commit()
    before = hermes.read_bytes()
    assert cli.json("push", "20261130_080002_bbbbbb", "--project", project)["appended"] == 3
    assert hermes.read_bytes() == before
    writer.close()


def test_a_database_that_holds_several_asks_which(cli, project, hermes):
    refused = cli.run("push", hermes, "--project", project)
    assert (refused.returncode, "--session" in refused.stderr) == (1, True)
    assert "OpenCode" not in refused.stderr
    answer = cli.json("push", hermes, "--session", "20261130_080002_bbbbbb", "--project", project)
    assert (answer["appended"], answer["sessions"][0]["agent"]) == (2, "hermes")
    missing = cli.run("push", hermes, "--session", "20261130_080002_nobody", "--project", project)
    assert (missing.returncode, "unreadable_container" in missing.stderr) == (1, True)


def test_a_database_with_one_session_needs_no_name(cli, project, opencode):
    assert cli.json("push", opencode, "--project", project)["sessions"][0]["agent"] == "opencode"


def test_the_tree_of_older_versions_is_a_store_too(cli, rest, project, corpus):
    tree = corpus / "opencode" / "json-tree-1.1.65"
    (cli.home / ".local" / "share").mkdir(parents=True)
    shutil.copytree(tree, cli.home / ".local" / "share" / "opencode")
    answer = cli.json("push", "--all", "--agent", "opencode", "--project", project)
    parent, child = answer["sessions"]
    assert rest.sessions(project)
    metas = {one["session_id"]: one["meta"] for one in rest.sessions(project)}
    assert metas[child["session_id"]]["parent_session_id"] == parent["session_id"]


def test_what_of_a_database_cannot_be_read_is_in_the_report(cli, project, opencode, tmp_path):
    with sqlite3.connect(opencode) as database:
        database.execute("update part set data = 'no JSON' where id = (select max(id) from part)")
    cli.json("push", opencode, "--project", project, "--report", tmp_path / "report.jsonl")
    report = json.loads((tmp_path / "report.jsonl").read_text("utf-8"))
    assert any("no JSON" in item["reason"] for item in report["warnings"])
    cli.run("convert", "--to", "messages", opencode, tmp_path / "out.jsonl", "--report", tmp_path / "convert.json")
    told = json.loads((tmp_path / "convert.json").read_text("utf-8"))["read"]["warnings"]
    assert any("no JSON" in item["reason"] for item in told)


def test_an_id_that_no_agent_knows_names_every_store_that_was_looked_at(cli, project, hermes, opencode):
    refused = cli.run("push", "ses_nobody", "--project", project)
    assert refused.returncode == 1
    for path in (hermes, opencode, "claude-code"):
        assert str(path) in refused.stderr
