"""How a session arrives: the same name however often and by whatever way it is brought, in requests that fit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from adapters.arrival import batches, creation, digest_of, native_id_of, starter_of
from adapters.claude_code import reader as claude_code
from adapters.conversion import Conversion, Message
from adapters.messages.reader import read
from adapters.registry import WRITERS, NotConverted, UnknownAgent, UnsupportedFormat, Writer, identify, write
from adapters.session import Session, session_of
from adapters.target import Target, UnknownVersion
from eventstore.wire.requests import session_body

TRANSCRIPT = Path(__file__).parents[2] / "cli" / "samples" / "relay-timer.jsonl"
HEADER = b'{"type":"session","schema_version":1,"meta":{}}\n'
HELLO = b'{"role":"user","content":"hello"}\n'


def conversion(**meta: object) -> Conversion:
    return Conversion("claude-code", "2.1.0", meta, (), {})


def message(number: int, content: str) -> Message:
    return Message({"role": "user", "content": content, "append_id": f"m{number}"}, f"m{number}", None, number)


def test_a_session_goes_by_the_id_that_its_agent_gave_it():
    assert native_id_of(conversion(native_session_id="5e55"), b"x") == "5e55"
    assert starter_of(conversion(subagent={"parent_session_id": "5e55"})) == "5e55"
    assert starter_of(conversion()) == ""


def test_one_that_has_no_id_goes_by_how_its_file_begins_and_keeps_it_as_it_grows():
    names = [
        native_id_of(read(lines), HEADER) for lines in ([HEADER, HELLO], [HEADER, HELLO, HELLO], [HEADER, HELLO[:-2] + b"!}\n"])
    ]
    other = native_id_of(read([HEADER, b'{"role":"user","content":"goodbye"}\n']), HEADER)
    assert names[0] == names[1] != other
    assert names[0].startswith("file-")


def test_what_creates_a_session_never_changes_and_is_always_taken():
    for native_id in ("5e55", "x" * 300, "a\nb", "\ud800"):
        body = creation("claude-code", native_id, "", "p")
        assert body == creation("claude-code", native_id, "", "p")
        assert session_body(json.dumps(body)).append_id == body["append_id"]
    ids = {creation("claude-code", native_id, starter, "p")["append_id"] for native_id in ("a", "x" * 300) for starter in ("", "b")}
    assert len(ids) == 4


def test_requests_hold_so_many_messages_and_about_so_many_bytes():
    messages = [message(number, "é" * 50) for number in range(5)]
    assert [[one.line for one, _ in batch] for batch in batches(messages, 2, 10_000)] == [[0, 1], [2, 3], [4]]
    assert [len(batch) for batch in batches([*messages, message(9, "x" * 999), message(10, "x")], 9, 400)] == [2, 2, 1, 1, 1]
    assert list(batches([])) == []


def test_equal_values_have_one_digest():
    assert digest_of({"a": 1, "b": [1.0]}) == digest_of({"b": [1], "a": 1}) != digest_of({"a": 2, "b": [1]})


def test_a_file_is_known_by_its_lines_and_a_wrong_name_is_told():
    assert identify([HEADER], None, "x") == identify([HEADER], "messages", "x") == "messages"
    for lines, agent, error in (
        ([b"hello\n"], None, UnsupportedFormat),
        ([HEADER], "claude-code", UnsupportedFormat),
        ([HEADER], "fortran", UnknownAgent),
    ):
        with pytest.raises(error):
            identify(lines, agent, "x")


def test_what_no_writer_is_made_for_is_told():
    session = session_of(read([HEADER, HELLO]))
    assert write("messages", session, Target()).records[1] == HELLO
    with pytest.raises(UnknownAgent):
        write("fortran", session, Target())
    with pytest.raises(UnknownVersion):
        write("claude-code", session, Target(version="99"))


def continued(raw: bytes) -> Session:
    """A session that another agent went on with."""
    session = session_of(claude_code.read(raw.splitlines(keepends=True)))
    more = {"role": "user", "content": "from another", "append_id": "x1", "metadata": {"agent_source": "hermes"}}
    return replace(session, entries=(*session.entries, more))


def test_what_was_odd_before_does_not_keep_a_session_from_going_home():
    """A line that was torn when the agent was killed, say; what others said must still be right."""
    for torn in (b"", b"not json\n", b'{"torn":'):
        written = write("claude-code", continued(TRANSCRIPT.read_bytes() + torn), Target(now_ms=1_800_000_000_000))
        assert b"".join(written.records).startswith(TRANSCRIPT.read_bytes()[:200])
        assert any(b"from another" in line for line in written.records)
        assert not torn or any(line.rstrip() == torn.rstrip() for line in written.records)


def test_what_the_agent_would_not_take_is_refused():
    session = session_of(read([HEADER, HELLO]))
    twice = [{"role": "user", "content": text, "append_id": "m1"} for text in ("a", "b")]
    with pytest.raises(NotConverted, match="line 4"):
        write("messages", replace(session, entries=(*session.entries, *twice)), Target())


def test_what_is_all_the_agents_own_is_not_looked_at(monkeypatch: pytest.MonkeyPatch):
    """It goes back untouched whatever is found, and looking costs more than writing."""
    session = session_of(claude_code.read(TRANSCRIPT.read_bytes().splitlines(keepends=True)))

    def problems(records: object) -> list[str]:
        raise AssertionError("it was looked at")

    writer = replace(WRITERS["claude-code"], problems=problems)
    monkeypatch.setitem(cast(dict[str, Writer], WRITERS), "claude-code", writer)
    assert len(write("claude-code", session, Target()).records) == 20
