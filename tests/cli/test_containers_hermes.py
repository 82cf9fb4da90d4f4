"""Hermes's containers: a database and an export say the same, and a running database is only read."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from adapters.hermes.records import ROW_COLUMNS, SESSION_COLUMNS
from cli.containers_hermes import (
    UnreadableStore,
    home_dir,
    read_container,
    read_exports,
    sessions_in,
    stores_of,
    write_container,
)
from cli.containers_sqlite import ContainerInTheWay
from eventstore.wire.codec import Number, dump, parse

PARTS = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
CALL = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": '{"a":1.10}'}, "extra_content": {"n": 1.0}}


def session(session_id: str = "20261130_080000_abc123", **columns) -> dict:
    """A session as a database gives it out: every column."""
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": "took back", "active": 0},
        {"role": "user", "content": PARTS, "api_content": "sent"},
        {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning": "hm", "finish_reason": "tool_calls"},
        {"role": "tool", "content": "r\0e", "tool_call_id": "c1", "tool_name": "t", "effect_disposition": "denied"},
    ]
    common: dict[str, Any] = {"session_id": session_id, "timestamp": 1795996752.4455402, "observed": 0, "active": 1, "compacted": 0}
    counted: dict[str, Any] = dict.fromkeys(("compression_fallback_streak", "rewind_count", "archived"), 0)
    known: dict[str, Any] = {"id": session_id, "source": "cli", "started_at": 1795996752.4, "title": "T", "cwd": "/work"}
    empty_row: dict[str, Any] = dict.fromkeys(ROW_COLUMNS)
    empty: dict[str, Any] = dict.fromkeys(SESSION_COLUMNS)
    messages = [empty_row | {"id": at} | common | row for at, row in enumerate(rows, 1)]
    return parse(dump(empty | counted | known | columns | {"messages": messages}))


def test_a_session_comes_back_from_a_database_with_its_dead_rows(tmp_path):
    assert write_container(tmp_path / "state.db", [session()]) == []
    back = read_container(tmp_path / "state.db")
    assert back.problems == []
    assert dump(back.document) == dump(session())
    assert [listed.session_id for listed in sessions_in(tmp_path / "state.db")] == [session()["id"]]


def test_an_export_holds_live_rows_alone_and_says_so(tmp_path):
    """As Hermes's own: its import makes every row live."""
    lost = write_container(tmp_path / "out.jsonl", [session()])
    assert len(lost) == 1
    back = read_container(tmp_path / "out.jsonl").document
    assert back["messages"] == session()["messages"][1:]


def test_a_real_export_comes_back_from_a_database(corpus, tmp_path):
    files = sorted((corpus / "hermes").glob("export-*.jsonl"))
    if not files:
        pytest.skip(f"no exports of Hermes in {corpus}")
    for path in files:
        document = read_container(path).document
        assert write_container(tmp_path / f"{path.stem}.db", [document]) == []
        assert dump(read_container(tmp_path / f"{path.stem}.db").document) == dump(document)
        assert write_container(tmp_path / path.name, [document]) == []
        assert (tmp_path / path.name).read_bytes() == dump(document).encode() + b"\n"


def test_the_database_holds_what_hermes_itself_would_have_written(tmp_path):
    write_container(tmp_path / "state.db", [session()])
    database = sqlite3.connect(tmp_path / "state.db")
    rows = database.execute("select content, tool_calls, timestamp from messages order by id").fetchall()
    database.close()
    assert rows[1][0] == "\0json:" + json.dumps(PARTS)
    assert rows[2][1] == json.dumps([CALL])
    assert rows[0][2] == 1795996752.4455402


def test_several_sessions_are_named_and_read_one_by_one(tmp_path):
    child = session("child", parent_session_id=session()["id"], title=None, started_at=1795996753.5)
    child["messages"] = [row | {"id": Number(str(int(row["id"].text) + 4))} for row in child["messages"]]
    for name in ("state.db", "out.jsonl"):
        write_container(tmp_path / name, [session(), child])
        assert [(listed.session_id, listed.parent_id) for listed in sessions_in(tmp_path / name)] == [
            (session()["id"], ""),
            ("child", session()["id"]),
        ]
        with pytest.raises(UnreadableStore):
            read_container(tmp_path / name)
        assert read_container(tmp_path / name, "child").document["id"] == "child"
        with pytest.raises(UnreadableStore):
            read_container(tmp_path / name, "nobody")


def test_what_is_still_in_the_wal_is_read_and_the_store_stays_as_it_is(tmp_path):
    path = tmp_path / "state.db"
    write_container(path, [session()])
    writer = sqlite3.connect(path)
    writer.execute("pragma journal_mode = wal")
    writer.execute("insert into messages (session_id, role, content, timestamp) values (?, 'user', 'new', 5.0)", [session()["id"]])
    writer.commit()
    before = path.read_bytes(), (tmp_path / "state.db-wal").read_bytes()
    writer.execute("insert into messages (session_id, role, content, timestamp) values (?, 'user', 'open', 6.0)", [session()["id"]])
    contents = [row["content"] for row in read_container(path).document["messages"]]
    assert contents[-1] == "new"
    assert (path.read_bytes(), (tmp_path / "state.db-wal").read_bytes()[: len(before[1])]) == before
    writer.close()


def test_a_newer_store_is_read_by_the_names_of_its_columns(tmp_path):
    path = tmp_path / "state.db"
    write_container(path, [session()])
    database = sqlite3.connect(path)
    database.execute("alter table messages add column mood text default 'good'")
    database.execute("alter table sessions drop column archived")
    database.close()
    document = read_container(path).document
    assert {row["mood"] for row in document["messages"]} == {"good"}
    assert "archived" not in document
    lost = write_container(tmp_path / "again.db", [document])
    assert [line for line in lost if "mood" in line]


def test_calls_that_are_no_json_are_kept_as_text_and_named(tmp_path):
    path = tmp_path / "state.db"
    write_container(path, [session()])
    database = sqlite3.connect(path)
    database.execute("update messages set tool_calls = '[{' where id = 3")
    database.commit()
    database.close()
    contents = read_container(path)
    assert contents.document["messages"][2]["tool_calls"] == "[{"
    assert len(contents.problems) == 1


def test_nothing_that_is_there_is_written_over(tmp_path):
    for name in ("state.db", "out.jsonl"):
        (tmp_path / name).write_bytes(b"mine")
        with pytest.raises(ContainerInTheWay):
            write_container(tmp_path / name, [session()])
        assert (tmp_path / name).read_bytes() == b"mine"


def test_two_sessions_of_one_id_make_no_database(tmp_path):
    with pytest.raises(ContainerInTheWay):
        write_container(tmp_path / "state.db", [session(), session()])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"SQLite format 3\0 and no more"])
def test_what_is_no_container_is_said_to_be_none(content, tmp_path):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UnreadableStore):
        read_container(tmp_path / "x")
    with pytest.raises(UnreadableStore):
        read_container(tmp_path / "absent")


def test_an_export_may_be_lines_a_list_or_what_the_import_is_sent(tmp_path):
    one, other = dump(session("a")), dump(session("b"))
    for text in (f"{one}\n{other}\n", f"[{one},{other}]", f'{{"sessions": [{one},\n{other}]}}'):
        (tmp_path / "x").write_text(text, "utf-8")
        assert [contents.document["id"] for contents in read_exports(tmp_path / "x")] == ["a", "b"]


def test_stores_are_where_hermes_has_them(tmp_path):
    assert home_dir({"HOME": "/home/me"}, "linux") == Path("/home/me/.hermes")
    assert home_dir({"HOME": "/home/me"}, "darwin") == Path("/home/me/.hermes")
    assert home_dir({"LOCALAPPDATA": "/c/Local"}, "win32") == Path("/c/Local/hermes")
    assert home_dir({"HERMES_HOME": "/h", "HOME": "/home/me"}, "linux") == Path("/h")
    (tmp_path / "profiles" / "work").mkdir(parents=True)
    for path in (tmp_path / "state.db", tmp_path / "profiles" / "work" / "state.db"):
        path.touch()
    assert stores_of({"HERMES_HOME": str(tmp_path)}) == [tmp_path / "state.db", tmp_path / "profiles" / "work" / "state.db"]
