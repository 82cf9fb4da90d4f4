"""An OpenCode session as a whole: what is live, how it is said, and that growth changes nothing that was appended."""

import json
from collections import Counter
from pathlib import Path

import pytest

from adapters.conversion import Conversion, Json
from adapters.leaves import leaves
from adapters.opencode.detect import detect
from adapters.opencode.home import go_home
from adapters.opencode.reader import read, read_document
from adapters.session import session_of
from eventstore.wire.codec import dump, parse, parse_object
from eventstore.wire.message import check_message

SAMPLES = Path(__file__).parent.parent / "samples" / "opencode"
NAMES = [path.stem for path in sorted(SAMPLES.glob("*.json"))]


def sample(name: str) -> Json:
    return parse((SAMPLES / f"{name}.json").read_text("utf-8"))


def said(conversion: Conversion) -> list[tuple[str, object]]:
    return [(message.body["role"], message.body["content"]) for message in conversion.messages]


def upto(document: Json, count: int) -> Json:
    return document | {"messages": document["messages"][:count]}


@pytest.mark.parametrize("name", NAMES)
def test_every_leaf_is_converted_or_reported(name):
    counts = dict(read_document(sample(name)).report["counts"])
    messages = counts.pop("messages")
    assert messages == Counter(message.body["role"] for message in read_document(sample(name)).messages)
    for unit, of_unit in counts.items():
        assert of_unit["found"] == sum(of_unit.values()) - of_unit["found"], unit
    document = sample(name)
    records = document.pop("messages")
    assert counts["records"]["found"] == len(records)
    assert counts["fields"]["found"] == sum(sum(1 for _ in leaves(value)) for value in [document, *records])


@pytest.mark.parametrize("name", NAMES)
def test_every_message_is_one_that_the_hub_takes(name):
    conversion = read_document(sample(name))
    for message in conversion.messages:
        check_message(parse_object(dump(message.body)))
    ids = [entry.append_id for entry in conversion.entries]
    assert len(ids) == len(set(ids))
    assert conversion == read_document(sample(name))


def test_text_of_the_harness_stands_apart_from_that_of_the_human():
    first, harness, *_ = read_document(sample("turns")).messages
    assert [part["type"] for part in first.body["content"]] == ["text", "image_url"]
    assert first.body["metadata"]["origin"] == "human"
    assert [part["text"][:6] for part in harness.body["content"]] == ["Called", "<file>"]
    assert harness.body["metadata"]["origin"] == "harness"


def test_a_tool_part_is_a_call_and_its_result():
    messages = [message.body for message in read_document(sample("turns")).messages]
    call, *results = messages[2:6]
    assert [(c["id"], c["function"]["name"]) for c in call["tool_calls"]] == [
        ("toolu_01A", "bash"),
        ("toolu_01B", "read"),
        ("toolu_01C", "bash"),
    ]
    assert json.loads(call["tool_calls"][0]["function"]["arguments"])["command"] == "python timer.py --beats 10"
    assert [result["tool_call_id"] for result in results] == ["toolu_01A", "toolu_01B", "toolu_01C"]
    assert [result["metadata"]["is_error"] for result in results] == [False, False, True]
    assert [part["type"] for part in results[1]["content"]] == ["text", "image_url"]


def test_what_came_before_an_interruption_is_the_result_as_opencode_sends_it():
    result = next(m.body for m in read_document(sample("turns")).messages if m.body.get("tool_call_id") == "toolu_02B")
    assert (result["content"], result["metadata"]["status"]) == ("beat 1\nbeat 2\n", "interrupted")


def test_thinking_keeps_its_signatures_and_is_not_promised_readable():
    thinking = read_document(sample("turns")).messages[2].body["thinking"]
    assert thinking["encrypted"] is True
    signed, redacted = thinking["items"]
    assert signed["signature"].startswith("EqQB")
    assert redacted["data"].startswith("RW5j")
    assert {item["provider"] for item in thinking["items"]} == {"anthropic"}


def test_an_error_without_content_is_the_harness_speaking():
    failed = next(m.body for m in read_document(sample("turns")).messages if m.body["content"] == "Overloaded")
    assert (failed["role"], failed["metadata"]["origin"], failed["metadata"]["status"]) == ("assistant", "harness", "error")


def test_several_steps_in_one_record_are_several_messages():
    assert said(read_document(sample("turns")))[-3:] == [
        ("assistant", None),
        ("tool", "10 beats in 10.00 s\n"),
        ("assistant", "No drift any more."),
    ]


def test_a_sub_agent_is_known_by_the_call_that_started_it():
    conversion = read_document(sample("turns"))
    assert conversion.subagents == {"ses_dd644000000Child000000001": "toolu_02A"}
    child = sample("compaction")
    child["info"]["parentID"] = "ses_parent"
    assert read_document(child).meta["subagent"]["parent_session_id"] == "ses_parent"


def test_a_compaction_stands_first_then_its_tail_then_the_rest():
    conversion = read_document(sample("compaction"))
    assert said(conversion) == [
        ("user", None),
        ("assistant", "A relay of four runners has begun; the sash is at the first."),
        ("user", "How many runners?"),
        ("assistant", "Four."),
        ("user", "Who has the sash?"),
        ("assistant", "The first runner."),
    ]
    assert conversion.messages[1].body["metadata"]["compaction"]["trigger"] == "auto"
    assert list(conversion.off_branch.values()) == ["compacted", "compacted"]


def test_a_compaction_whose_summary_failed_replaces_nothing():
    document = sample("compaction")
    document["messages"][5]["info"]["error"] = {"name": "APIError", "data": {"message": "no"}}
    conversion = read_document(document)
    assert conversion.off_branch == {}
    assert conversion.messages[0].body["content"] == "Begin the relay."


def test_a_revert_takes_back_what_follows_it_down_to_the_part():
    conversion = read_document(sample("revert"))
    assert said(conversion) == [("user", "Run."), ("assistant", "One."), ("tool", "ran")]
    assert set(conversion.off_branch.values()) == {"reverted"}


def test_a_reverted_session_has_no_live_message():
    document = sample("revert")
    document["info"]["revert"] = {"messageID": document["messages"][0]["info"]["id"]}
    conversion = read_document(document)
    assert conversion.messages == []
    assert len(conversion.off_branch) == 4


def test_unknown_parts_and_records_are_kept_and_counted():
    report = read_document(sample("oddities")).report
    kept = {item["path"]: item["count"] for item in report["kept_native"]}
    assert kept["fields/part.type"] == 1
    assert kept["records/shell"] == 1
    assert kept["records/unknown"] == 1
    assert {item["path"] for item in report["synthesised"]} >= {"fields/tool.callID", "fields/tool.tool"}


def test_arguments_that_the_model_had_not_finished_stay_as_they_were():
    call = read_document(sample("oddities")).messages
    calls = [c for message in call for c in message.body.get("tool_calls", ())]
    assert [c["function"]["arguments"] for c in calls] == ['{"command":"sleep 9"}', '{"command": "ec', "{}"]


@pytest.mark.parametrize("name", ["turns", "compaction"])
def test_a_session_that_grows_adds_messages_and_changes_none(name):
    document = sample(name)
    known: dict[str, Json] = {}
    for count in range(1, len(document["messages"]) + 1):
        for message in read_document(upto(document, count), is_final=False).messages:
            assert known.setdefault(message.append_id, message.body) == message.body
    whole = {message.append_id: message.body for message in read_document(document).messages}
    assert whole.items() <= known.items()


def test_a_message_that_is_still_written_waits_and_comes_when_it_is_done():
    done = upto(sample("turns"), 2)
    running = parse(dump(done))
    part = running["messages"][1]["parts"][4]
    part["state"] = {"status": "running", "input": part["state"]["input"], "time": {"start": part["state"]["time"]["start"]}}
    del running["messages"][1]["info"]["time"]["completed"]
    waiting = read_document(running, is_final=False)
    assert [role for role, _ in said(waiting)] == ["user", "user"]
    assert waiting.held_records
    finished = read_document(done, is_final=False)
    assert finished.messages[: len(waiting.messages)] == waiting.messages
    assert [role for role, _ in said(finished)][2:] == ["assistant", "tool", "tool", "tool"]
    at_rest = {message.append_id for message in read_document(running).messages} - {m.append_id for m in waiting.messages}
    assert not at_rest & {message.append_id for message in finished.messages}, "half a message has a name of its own"


def test_what_opencode_changes_afterwards_changes_no_message():
    before, after = sample("turns"), sample("turns")
    after["messages"][0]["info"]["summary"] = {"title": "Drift", "diffs": [{"file": "timer.py", "additions": 3}]}
    after["messages"][1]["parts"][4]["state"]["time"]["compacted"] = parse("1795996500000")
    first, then = read_document(before), read_document(after)
    assert then.messages == first.messages
    entries = (*session_of(first).entries, *session_of(then).entries)
    home = go_home(session_of(first).__class__(then.meta, entries))
    assert {**home.document, "messages": home.messages} == after


def test_what_opencode_removed_itself_does_not_come_home():
    whole = sample("turns")
    entries = (*session_of(read_document(whole)).entries, *session_of(read_document(upto(whole, 3))).entries)
    home = go_home(session_of(read_document(whole)).__class__({}, entries))
    assert home.messages == whole["messages"][:3]
    assert home.removed


def test_an_export_is_known_by_what_it_says():
    text = (SAMPLES / "turns.json").read_bytes()
    assert detect([text]) == (1.0, "1.18.33")
    assert detect(text.splitlines(keepends=True)) == (0.9, "1.18.33")
    assert detect([b'{"type":"user","uuid":"a"}\n', b"{}"]) == (0.0, "")


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"", b"[1]", b'{"info": ', b"nul\x00"])
def test_what_cannot_be_read_is_kept_and_said(raw):
    conversion = read([raw])
    assert conversion.messages == []
    assert conversion.report["counts"]["records"]["kept_native"] == 1
    assert len(conversion.natives) == 1


def test_a_document_of_odd_shapes_is_read():
    for document in ({}, {"messages": 7}, {"info": [], "messages": [None, 1, {"info": {"role": "user"}, "parts": {}}]}):
        conversion = read_document(document)
        home = go_home(session_of(conversion))
        assert {"messages": home.messages, **home.document}["messages"] == document.get("messages", [])


def test_deep_nesting_is_kept_as_text():
    deep = parse("[" * 122 + "]" * 122)
    document = sample("revert")
    document["messages"][0]["more"] = deep
    conversion = read_document(document)
    assert "raw" in conversion.messages[0].body["native"]
    assert go_home(session_of(conversion)).messages == document["messages"]
    parse(dump([[entry.body for entry in conversion.entries]]))
