"""Sessions of others as rows that Hermes resumes from: what is written, and what a broken session becomes."""

import pytest

from adapters.hermes.limits import ROWS_MAX
from adapters.hermes.reader import read_document
from adapters.hermes.validator import problems
from adapters.hermes.writer import live_only, write
from adapters.session import Session, session_of
from adapters.target import Target, UnknownVersion
from eventstore.wire.codec import Number, dump, parse

NOW = Target(now_ms=1_800_000_000_000, cwd="/work")
MARKED = {"role": "user", "content": "\0json:1", "timestamp": 1}
STRAY = {"role": "tool", "content": "", "tool_call_id": "x", "timestamp": 1}
PNG = "data:image/png;base64,iVBORw0KGgo="


def session(*messages: dict, **meta) -> Session:
    said = {"agent_source": "claude-code", "native_session_id": "5e55", "cwd": "/there", **meta}
    return Session(said, tuple(parse(dump({"append_id": f"m{at}", **message})) for at, message in enumerate(messages)))


def user(content, **more) -> dict:
    return {"role": "user", "content": content, **more}


def asked(*ids: str, content=None, **more) -> dict:
    calls = [{"id": name, "type": "function", "function": {"name": "Read", "arguments": '{"a": 1.10}'}} for name in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls, **more}


def answered(name: str, content, **more) -> dict:
    return {"role": "tool", "tool_call_id": name, "content": content, **more}


def rows(*messages: dict, **meta) -> list[dict]:
    written = write(session(*messages, **meta), NOW)
    assert problems(written.records) == []
    return written.records[0]["messages"]


def told(*messages: dict) -> list[tuple]:
    return [(row["role"], row["content"], row["tool_call_id"]) for row in rows(*messages)]


def test_parallel_and_identical_calls_have_their_results_in_order():
    """Results may come in any order, and after other words: they stand right behind their calls."""
    messages = [user("go"), asked("a", "b"), answered("b", "B"), user("wait"), answered("a", "A")]
    assert told(*messages)[2:] == [("tool", "A", "a"), ("tool", "B", "b"), ("user", "wait", None)]


def test_a_call_without_a_result_gets_one_that_says_so():
    (_, _, result) = told(user("go"), asked("a"))
    assert result[0] == "tool"
    assert "No result" in result[1]


def test_of_two_results_the_first_counts_and_one_without_a_call_is_told_as_text():
    messages = [user("go"), asked("a"), answered("a", "1"), answered("a", "2"), answered("x", "lost")]
    assert [content for _, content, _ in told(*messages)][2:] == [
        "1",
        "[A tool's result whose call is not in this session]\n\nlost",
    ]


def test_an_id_used_again_is_another_one():
    ids = [
        call["id"]
        for row in rows(user("go"), asked("a"), answered("a", "1"), asked("a"), answered("a", "2"))
        for call in row["tool_calls"] or ()
    ]
    assert len(set(ids)) == 2


def test_lines_of_one_reply_are_one_row():
    """Hermes would join neighbouring assistants in its own way."""
    reply = {"metadata": {"reply_id": "r"}}
    said = [
        user("go"),
        {"role": "assistant", "content": "I look."} | reply,
        asked("a") | reply,
        asked("b", content="And there.") | reply,
    ]
    _, row, *results = rows(*said, answered("a", "A"), answered("b", "B"))
    assert row["content"] == "I look.\n\nAnd there."
    assert [call["id"] for call in row["tool_calls"]] == [result["tool_call_id"] for result in results] == ["a", "b"]


def test_arguments_are_the_string_that_they_were_valid_or_not():
    broken = asked("a")
    broken["tool_calls"][0]["function"]["arguments"] = '{"a": 1,'
    assert rows(user("go"), broken)[1]["tool_calls"][0]["function"]["arguments"] == '{"a": 1,'


def test_images_are_parts_and_other_media_a_note():
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": PNG}}, {"type": "file", "file": {}}]
    assert rows(user(parts))[0]["content"] == [*parts[:2], {"type": "text", "text": "[a file that could not be carried over]"}]


def test_open_thinking_goes_over_and_sealed_thinking_does_not():
    thinking = {"content": "a\n\nb", "encrypted": False, "items": [{"text": "a", "signature": "s"}, {"text": "b"}]}
    written = write(session(user("go"), {"role": "assistant", "content": "x", "thinking": thinking}), NOW)
    row = written.records[0]["messages"][1]
    assert (row["reasoning"], row["reasoning_content"], row["reasoning_details"]) == ("b", None, None)
    assert {item["path"] for item in written.report["kept_native"]} >= {"fields/assistant.thinking.items[].signature"}


def test_the_prompts_of_another_harness_are_not_live_here():
    said = [{"role": "system", "content": "You are"}, user("<caveat>", metadata={"origin": "harness"}), user("go")]
    assert told(*said) == [("user", "go", None)]


def test_a_summary_stands_for_what_was_said_before_it():
    said = [
        user("old"),
        user("it was so", metadata={"origin": "harness", "compaction": {}}),
        {"role": "assistant", "content": "on"},
    ]
    written = rows(*said)
    assert [(row["content"], row["active"].text, row["compacted"].text) for row in written] == [
        ("old", "0", "1"),
        ("it was so", "1", "0"),
        ("on", "1", "0"),
    ]
    document, left_out = live_only(write(session(*said), NOW).records[0])
    assert ([row["content"] for row in document["messages"]], left_out) == (["it was so", "on"], 1)


def test_half_a_surrogate_pair_and_the_mark_of_the_database_are_replaced_and_nul_stays():
    assert told(user("\ud800!"), user("\0json:[]"), user("a\0b")) == [
        ("user", "\ufffd!", None),
        ("user", "\ufffdjson:[]", None),
        ("user", "a\0b", None),
    ]


def test_no_time_is_later_than_now():
    row = rows(user("go", created_at="2999-01-01T00:00:00Z"), user("on"))
    assert [one["timestamp"] for one in row] == [Number("1800000000.0")] * 2


def test_the_session_is_named_as_hermes_names_its_own_and_always_the_same():
    first = write(session(user("go", created_at="2026-11-30T08:09:10Z")), NOW)
    again = write(session(user("go", created_at="2026-11-30T08:09:10Z"), user("on")), Target())
    assert first.session_id == again.session_id
    assert first.session_id.startswith("20261130_080910_")
    assert len(first.session_id) == len("20261130_080910_abcdef")


@pytest.mark.parametrize(("title", "written"), [("a\n b\u200b", "a b"), ("x" * 300, "x" * 100), ("", "go")])
def test_a_title_is_one_that_hermes_takes(title, written):
    assert write(session(user("go"), title=title), NOW).records[0]["title"] == written


def test_a_session_that_began_here_goes_on_with_what_others_said():
    began = {"id": "s", "source": "cli", "started_at": 1.5, "ended_at": 2.5, "end_reason": "compression", "message_count": 2}
    home = [{"id": 7, "session_id": "s", "active": 1, "role": "user", "content": "go"}]
    home.append(
        {"id": 8, "session_id": "s", "active": 1, "role": "assistant", "content": None, "tool_calls": asked("a")["tool_calls"]}
    )
    document = parse(dump(began | {"messages": home}))
    whole = Session({}, (*session_of(read_document(document)).entries, *session(answered("a", "A"), user("on")).entries))
    written = write(whole, NOW).records[0]
    assert written["messages"][:2] == document["messages"]
    assert [(row["id"].text, row["content"]) for row in written["messages"][2:]] == [("9", "A"), ("10", "on")]
    assert (written["ended_at"], written["end_reason"], written["message_count"].text) == (None, None, "4")


def test_a_sub_agents_session_hangs_on_the_one_that_started_it():
    child = session(user("do"), subagent={"agent_id": "a1", "parent_session_id": "5e55"})
    written = write(session(user("go")), NOW, [child])
    (below,) = written.subagents
    assert below.records[0]["parent_session_id"] == written.session_id != below.session_id
    assert parse(below.records[0]["model_config"]) == {"_delegate_from": written.session_id}
    assert (below.records[0]["source"], below.records[0]["title"]) == ("subagent", None)


def test_what_an_import_would_not_take_is_told():
    written = write(session(*[user("x")] * (ROWS_MAX + 1)), NOW)
    assert [item["path"] for item in written.report["warnings"]] == ["session/title", "session/limits"]
    assert len(problems(written.records)) == 1


def test_a_version_that_nobody_knows_is_refused():
    with pytest.raises(UnknownVersion):
        write(session(user("go")), Target(version="23"))
    assert write(session(user("go")), Target(version="0.19.0")).version == "22"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"id": ""}, "no id"),
        ({"source": None}, "no source"),
        ({"started_at": "x"}, "started_at is no number"),
        ({"started_at": 1795996752000}, "started_at is no time in seconds"),
        ({"model_config": "[]"}, "model_config is no JSON object"),
        ({"title": "x" * 101}, "the title has more than 100 characters"),
        ({"cwd": 1}, "cwd is no text"),
        ({"messages": []}, "no live rows: it is found, but has no messages"),
        ({"user_id": "\ud800"}, "half a surrogate pair, which cannot be written"),
        ({"messages": [MARKED]}, "row 1: the content begins with the mark of one that is no text"),
        ({"messages": [STRAY]}, "row 1: a result that answers no open call of the assistant before it: dropped on resume"),
    ],
)
def test_the_validator_names_what_hermes_would_refuse_or_pass_over(change, problem):
    sound = write(session(user("go")), NOW).records[0]
    assert problems([sound]) == []
    assert f"session 1: {problem}" in problems([parse(dump(sound | change))])
