"""What the columns and rows of a Hermes session mean."""

import pytest

from adapters.hermes.reader import read, read_document
from adapters.hermes.writer import write
from adapters.session import Session, session_of
from adapters.target import Target
from eventstore.wire.codec import dump, parse


def document(*rows: dict, **columns) -> dict:
    numbered = [{"id": at, "session_id": "s", "active": 1, "compacted": 0, **row} for at, row in enumerate(rows, 1)]
    return parse(dump({"id": "s", "source": "cli", "started_at": 1.5, **columns, "messages": numbered}))


def said(role: str, content, **more) -> dict:
    return {"role": role, "content": content, "timestamp": 1795996752.4455402, **more}


def bodies(*rows: dict, **columns) -> list[dict]:
    return [message.body for message in read_document(document(*rows, **columns)).messages]


def test_rows_stand_in_the_order_of_their_numbers_though_clocks_go_back():
    first, second = bodies(said("user", "a", timestamp=9.5), said("assistant", "b", timestamp=1.5))
    assert (first["content"], second["content"]) == ("a", "b")
    assert (first["created_at"], second["created_at"]) == ("1970-01-01T00:00:09.500000Z", "1970-01-01T00:00:01.500000Z")


def test_what_was_rewound_or_compacted_is_kept_and_marked_and_comes_home():
    rows = [said("user", "old", active=0, compacted=1), said("user", "undone", active=0), said("user", "live")]
    conversion = read_document(document(*rows))
    assert [message.body["content"] for message in conversion.messages] == ["live"]
    assert list(conversion.off_branch.values()) == ["compacted", "rewound"]
    assert write(session_of(conversion), Target()).records == (document(*rows),)


def test_a_row_that_was_undone_after_it_was_pushed_goes_home_undone():
    before = read_document(document(said("user", "a"), said("user", "b")), is_final=False)
    rows = [said("user", "a"), said("user", "b", active=0), said("user", "c")]
    after = read_document(document(*rows))
    pushed = {entry.append_id: entry.body for entry in [*before.entries, *after.entries]}
    assert write(Session(after.meta, tuple(pushed.values())), Target()).records == (document(*rows),)


def test_rows_that_a_compaction_writes_again_are_messages_again_behind_its_summary():
    tail = said("user", "and now?")
    old = [said("user", "long ago", active=0, compacted=1), tail | {"active": 0, "compacted": 1}]
    before, after = (
        read_document(document(said("user", "long ago"), tail)),
        read_document(document(*old, said("user", "[CONTEXT COMPACTION — REFERENCE ONLY] it was so"), tail)),
    )
    summary, again = after.messages
    assert summary.body["metadata"]["compaction"] == {}
    assert summary.body["metadata"]["origin"] == "harness"
    assert again.body["content"] == "and now?"
    assert again.append_id not in {message.append_id for message in before.messages}


def test_content_behind_the_mark_is_its_parts():
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]
    assert bodies(said("user", "\0json:" + dump(parts)))[0]["content"] == parts
    assert bodies(said("user", parts))[0]["content"] == parts


def test_calls_keep_their_arguments_and_their_extras_come_home():
    call = {"id": "fc_1", "call_id": "call_1", "type": "function", "function": {"name": "t", "arguments": '{"a":1.10, '}, "x": 1}
    rows = [said("assistant", None, tool_calls=[call]), said("tool", "r", tool_call_id="call_1", tool_name="t")]
    asked, answered = bodies(*rows)
    assert asked["tool_calls"] == [{"id": "fc_1", "type": "function", "function": {"name": "t", "arguments": '{"a":1.10, '}}]
    assert answered["tool_call_id"] == "fc_1", "a result may name the call by its other id"
    assert write(session_of(read_document(document(*rows))), Target()).records == (document(*rows),)


@pytest.mark.parametrize(
    ("row", "is_error"),
    [
        ({"content": '{"output": "", "exit_code": 1, "error": null}'}, True),
        ({"content": '{"output": "", "exit_code": 0, "error": null}'}, False),
        ({"content": '{"success": false}'}, True),
        ({"content": "plain"}, None),
        ({"content": "x", "effect_disposition": "denied"}, True),
    ],
)
def test_a_failure_is_told_by_what_the_tool_said(row, is_error):
    assert bodies(said("tool", "") | {"tool_call_id": "c"} | row)[0]["metadata"].get("is_error") is is_error


def test_thinking_is_said_once_and_what_is_sealed_stays_sealed():
    details = dump([{"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "reasoning.encrypted", "data": "xx"}])
    codex = dump([{"id": "rs_1", "encrypted_content": "yy", "summary": [{"text": "so"}]}])
    row = said("assistant", "a", reasoning="hm", reasoning_content="hm", reasoning_details=details, codex_reasoning_items=codex)
    assert bodies(row)[0]["thinking"] == {
        "content": "hm\n\nso",
        "encrypted": True,
        "items": [
            {"text": "hm", "signature": "sig"},
            {"data": "xx"},
            {"provider": "openai", "text": "so", "data": "yy", "id": "rs_1"},
        ],
    }


def test_what_was_sent_in_the_contents_place_is_never_shown_and_comes_home():
    rows = [said("user", "hi", api_content="hi <memory-context>secret plan</memory-context>")]
    conversion = read_document(document(*rows))
    assert "secret plan" not in dump([message.body for message in conversion.messages])
    assert write(session_of(conversion), Target()).records == (document(*rows),)


def test_the_system_prompt_is_kept_and_is_no_message():
    conversion = read_document(document(said("user", "hi"), system_prompt="You are"))
    assert [message.body["role"] for message in conversion.messages] == ["user"]
    assert {item["path"] for item in conversion.report["kept_native"]} >= {"session/system_prompt"}


@pytest.mark.parametrize(
    ("columns", "link"),
    [
        ({"model_config": '{"_delegate_from": "p"}'}, {"subagent": {"agent_id": "s", "parent_session_id": "p"}}),
        ({"source": "subagent"}, {"subagent": {"agent_id": "s", "parent_session_id": "p"}}),
        ({"model_config": '{"_branched_from": "p"}'}, {"forked_from": {"session_id": "p"}}),
        ({}, {"continues": {"session_id": "p"}}),
    ],
)
def test_the_meta_tells_how_a_session_hangs_on_another(columns, link):
    meta = read_document(document(said("user", "hi"), parent_session_id="p", **columns)).meta
    assert {name: meta.get(name) for name in link} == link


def test_a_file_of_several_sessions_is_read_one_by_one_and_says_so():
    line = dump(document(said("user", "hi"))).encode()
    report = read([line, line, line]).report
    assert report["counts"]["sessions"] == {"found": 3, "converted": 1, "degraded": 0, "kept_native": 0, "dropped": 2}


def test_columns_that_nobody_knows_yet_are_kept():
    rows = [said("user", "hi", mood="good")]
    conversion = read_document(document(*rows, weather={"rain": 1}))
    paths = {item["path"] for item in conversion.report["kept_native"]}
    assert paths >= {"fields/user.mood", "session/weather.rain"}
    assert write(session_of(conversion), Target()).records == (document(*rows, weather={"rain": 1}),)
