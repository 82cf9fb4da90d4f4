"""Bugs that tools like ours had (tests/known_bugs.toml), where no other file shows that we have not."""

from typing import Any

import pytest

from adapters.hermes.reader import read_document
from adapters.registry import WRITERS, NotConverted, write
from adapters.session import Session, session_of
from adapters.target import Target
from eventstore.wire.codec import Number, dump, parse

AGENTS = sorted(set(WRITERS) - {"messages"})
TARGET = Target(now_ms=1_800_000_000_000, provider="acme", model="large")
Json = dict[str, Any]


def session(*entries: Json, **meta: str) -> Session:
    said: list[Json] = [{"append_id": f"m{at}", **entry} for at, entry in enumerate(entries)]
    return Session({"agent_source": "another", "cwd": "/relay", **meta}, tuple(parse(dump(said))))


def call(name: str) -> Json:
    return {"id": name, "type": "function", "function": {"name": "read", "arguments": "{}"}}


def text_of(records: Any) -> str:
    return "\n".join(record.decode() if isinstance(record, bytes) else dump(record) for record in records)


SUMMARY = {"role": "user", "content": "Summary: they read.", "metadata": {"origin": "harness", "compaction": {"trigger": "auto"}}}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_compaction_between_a_call_and_its_result_parts_them_not(agent):
    done = write(
        agent,
        session(
            {"role": "user", "content": "read"},
            {"role": "assistant", "content": None, "tool_calls": [call("c1")]},
            SUMMARY,
            {"role": "tool", "tool_call_id": "c1", "content": "said by the tool"},
            {"role": "user", "content": "and now?"},
        ),
        TARGET,
    )
    assert text_of(done.records).count("said by the tool") == 1
    assert text_of(done.records).count("and now?") >= 1


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_that_would_not_be_listed_is_refused(agent):
    try:
        done = write(agent, session({"role": "system", "content": "be brief"}), TARGET)
    except NotConverted:
        return
    assert WRITERS[agent].problems(done.records) == []


def test_a_reply_in_several_lines_is_counted_once_in_hermes():
    lines = [{"input_tokens": 7, "output_tokens": 1}, {"input_tokens": 7, "output_tokens": 40}]
    said = [{"role": "assistant", "content": "x", "metadata": {"reply_id": "r1", "usage": usage}} for usage in lines]
    other = {"role": "assistant", "content": "y", "metadata": {"reply_id": "r2", "usage": {"input_tokens": 5, "output_tokens": 2}}}
    (document,) = write("hermes", session({"role": "user", "content": "go"}, *said, other), TARGET).records
    assert (document["input_tokens"], document["output_tokens"]) == (Number("12"), Number("42"))


def test_a_session_of_hermes_that_had_ended_goes_on():
    row = {"id": 1, "session_id": "s", "role": "user", "content": "hi", "timestamp": 1.5, "active": 1}
    columns = {"id": "s", "source": "cli", "started_at": 1.0, "ended_at": 2.0, "end_reason": "compression"}
    was = session_of(read_document(parse(dump({**columns, "messages": [row]}))))
    assert parse(dump(write("hermes", was, TARGET).records[0]))["end_reason"] == "compression"
    more = session({"role": "user", "content": "go on"}).entries
    (document,) = write("hermes", Session(was.meta, (*was.entries, *more)), TARGET).records
    assert (document["ended_at"], document["end_reason"]) == (None, None)
    assert [row["content"] for row in document["messages"]] == ["hi", "go on"]


@pytest.mark.parametrize("agent", ["hermes", "opencode"])
def test_the_working_directory_is_that_of_the_target_host(agent):
    there = Target(now_ms=TARGET.now_ms, provider="acme", model="large", cwd="/elsewhere/relay")
    (document,) = write(agent, session({"role": "user", "content": "go"}), there).records
    told = document["cwd"] if agent == "hermes" else document["info"]["directory"]
    assert told == "/elsewhere/relay"
