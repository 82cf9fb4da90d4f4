"""OpenCode's containers: a database, a tree and an export say the same, and a running database is only read."""

import os
import sqlite3
from pathlib import Path

import pytest

from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.opencode.reader import read_document
from adapters.opencode.validator import problems
from adapters.opencode.writer import write
from adapters.session import session_of
from adapters.target import Target
from cli.containers_opencode import (
    data_dir,
    read_container,
    sessions_in,
    store_of,
    write_container,
)
from cli.containers_sqlite import ContainerInTheWay, UnreadableContainer
from eventstore.wire.codec import dump, parse

CORPUS = Path(os.environ.get("TASUKI_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus") / "opencode"
SAMPLES = Path(__file__).parent.parent / "samples" / "opencode"
FILES = sorted([*CORPUS.glob("*.json"), *(SAMPLES / f"{name}.json" for name in ("turns", "compaction", "revert"))])
TREE = CORPUS / "json-tree-1.1.65"
needs_corpus = pytest.mark.skipif(not TREE.is_dir(), reason=f"there is no corpus in {CORPUS}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", ["out.db", "out", "out.json"])
def test_a_session_comes_back_from_every_container(path, name, tmp_path):
    document = read_container(path).document
    assert write_container(tmp_path / name, document) == []
    back = read_container(tmp_path / name)
    assert back.problems == []
    assert back.document == document
    assert [listed.session_id for listed in sessions_in(tmp_path / name)] == [document["info"]["id"]]


@needs_corpus
def test_a_tree_is_read_session_by_session(tmp_path):
    child, parent = sessions_in(TREE)
    assert child.parent_id == parent.session_id
    for listed in (child, parent):
        document = read_container(TREE, listed.session_id).document
        assert document["messages"]
        assert all(record["parts"] for record in document["messages"])
        assert write_container(tmp_path / listed.session_id, document) == []
        assert files_of(tmp_path / listed.session_id) == {
            name: value for name, value in files_of(TREE).items() if belongs(name, document)
        }


@needs_corpus
def test_a_tree_goes_home_as_it_was_by_way_of_a_messages_file(tmp_path):
    for listed in sessions_in(TREE):
        document = read_container(TREE, listed.session_id).document
        file = messages_writer.write(session_of(read_document(document)), Target()).records
        home = write(session_of(messages_reader.read(file)), Target())
        assert home.records == (document,)
        assert home.session_id == listed.session_id
        assert problems([{**document}]) == []


def files_of(tree: Path) -> dict[str, object]:
    return {str(file.relative_to(tree)): parse(file.read_text("utf-8")) for file in tree.rglob("*") if file.is_file()}


def belongs(name: str, document) -> bool:
    ids = {document["info"]["id"], *(record["info"]["id"] for record in document["messages"])}
    return name.endswith("migration") or any(step.removesuffix(".json") in ids for step in Path(name).parts)


@needs_corpus
def test_a_tree_goes_into_a_database_with_zeros_where_it_says_nothing(tmp_path):
    listed = sessions_in(TREE)[1]
    document = read_container(TREE, listed.session_id).document
    assert write_container(tmp_path / "a.db", document) == ["session_diff: no table"]
    back = read_container(tmp_path / "a.db").document
    assert back["messages"] == document["messages"]
    zero = parse('{"cost": 0, "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}')
    assert back["info"] == document["info"] | zero


def test_rows_that_are_only_in_the_wal_are_read(tmp_path):
    path = tmp_path / "live.db"
    document = read_container(SAMPLES / "compaction.json").document
    write_container(path, document)
    writer = sqlite3.connect(path)
    writer.execute("pragma journal_mode = wal")
    writer.execute("pragma wal_autocheckpoint = 0")
    writer.execute("update session set title = 'changed'")
    writer.commit()
    writer.execute("update session set title = 'not committed'")
    before = path.read_bytes()
    assert (tmp_path / "live.db-wal").stat().st_size
    assert read_container(path).document["info"]["title"] == "changed"
    assert path.read_bytes() == before
    writer.close()


def test_a_database_that_cannot_even_be_locked_is_read_from_a_copy(tmp_path, monkeypatch):
    path = tmp_path / "a.db"
    document = read_container(SAMPLES / "compaction.json").document
    write_container(path, document)
    whole = sqlite3.connect
    tried: list[str] = []

    def refuse_once(name, **options):
        tried.append(str(name))
        if len(tried) == 1:
            raise sqlite3.OperationalError("unable to open database file")
        return whole(name, **options)

    monkeypatch.setattr(sqlite3, "connect", refuse_once)
    assert read_container(path).document == document
    assert len(tried) > 1


def test_columns_of_another_version_are_kept(tmp_path):
    path = tmp_path / "a.db"
    write_container(path, read_container(SAMPLES / "compaction.json").document)
    database = sqlite3.connect(path)
    database.execute("alter table session add column mood text")
    database.execute("update session set mood = 'calm', revert = '{'")
    database.execute("drop table todo")
    database.commit()
    database.close()
    back = read_container(path)
    assert back.document["info"]["columns"] == {"mood": "calm"}
    assert back.problems == ["session.revert is no JSON, and is kept as text"]


def test_a_record_that_is_no_json_spoils_no_other(tmp_path):
    write_container(tmp_path / "a.db", read_container(SAMPLES / "compaction.json").document)
    database = sqlite3.connect(tmp_path / "a.db")
    database.execute("update part set data = '{\"type\"' where id = (select min(id) from part)")
    database.commit()
    database.close()
    back = read_container(tmp_path / "a.db")
    assert back.document["messages"][0]["parts"][0]["raw"] == '{"type"'
    assert len(back.problems) == 1
    write_container(tmp_path / "tree", read_container(SAMPLES / "compaction.json").document)
    torn = next((tmp_path / "tree" / "storage" / "part").rglob("*.json"))
    torn.write_text('{"type": "te')
    back = read_container(tmp_path / "tree")
    assert len(back.problems) == 1
    assert len(back.document["messages"]) == 8


def test_what_a_container_cannot_hold_is_said(tmp_path):
    document = read_container(SAMPLES / "oddities.json").document
    lost = write_container(tmp_path / "a.db", document)
    assert "messages[3]: it has no id of its own" in lost
    assert "messages[4]: it has no id of its own" in lost
    back = read_container(tmp_path / "a.db").document
    assert back["todo"] == document["todo"]
    assert back["messages"][0] == document["messages"][0], "lone surrogates and NUL too"


def test_nothing_is_written_over(tmp_path):
    path = tmp_path / "a.db"
    path.write_bytes(b"")
    with pytest.raises(ContainerInTheWay):
        write_container(path, read_container(SAMPLES / "turns.json").document)
    assert path.read_bytes() == b""


def test_names_of_files_are_never_paths(tmp_path):
    document = read_container(SAMPLES / "compaction.json").document
    document["messages"][0]["info"]["id"] = "../../evil"
    assert write_container(tmp_path / "tree", document) == ["messages[0]: it has no id of its own"]
    assert [path.name for path in tmp_path.iterdir()] == ["tree"]


def test_a_container_that_holds_nothing_to_read_is_refused(tmp_path):
    (tmp_path / "a.json").write_text("[1]")
    (tmp_path / "b.db").write_bytes(b"SQLite format 3\x00 and no more")
    (tmp_path / "c").mkdir()
    for path in (*tmp_path.iterdir(), tmp_path / "missing"):
        with pytest.raises(UnreadableContainer):
            read_container(path)
    write_container(tmp_path / "d.db", read_container(SAMPLES / "turns.json").document)
    with pytest.raises(UnreadableContainer):
        read_container(tmp_path / "d.db", "ses_other")


def test_the_store_of_this_host_is_its_database_before_its_tree(tmp_path):
    home = {"XDG_DATA_HOME": str(tmp_path)}
    assert data_dir(home) == tmp_path / "opencode"
    assert store_of(home) is None
    document = read_container(SAMPLES / "turns.json").document
    write_container(tmp_path / "opencode", document)
    assert store_of(home) == tmp_path / "opencode"
    write_container(tmp_path / "opencode" / "opencode.db", document)
    assert store_of(home) == tmp_path / "opencode" / "opencode.db"
    assert dump(read_container(tmp_path / "opencode" / "opencode.db").document["info"]["title"]) == '"Relay timer"'
