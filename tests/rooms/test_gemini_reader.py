"""What the records of a Gemini CLI session mean: a log of changes, in which the same is told again and again."""

import json
from pathlib import Path

import pytest
from gemini_records import HEADER, SHELL, bodies, call, lines, reply, response, user

from adapters import line_blocks
from adapters.gemini.reader import read
from adapters.gemini.writer import write
from adapters.session import Session, session_of
from adapters.target import Target
from eventstore.wire.codec import dump

SAMPLES = Path(__file__).parent.parent / "samples" / "gemini"


def sample(name: str) -> list[bytes]:
    return (SAMPLES / name).read_bytes().splitlines(keepends=True)


def told(*records: object) -> list[tuple[str, object]]:
    return [(body["role"], body["content"]) for body in bodies(*records)]


def test_a_record_with_a_known_id_replaces_the_earlier_one_in_its_place():
    assert told(user("a", "one"), user("b", "two"), user("a", "one, better")) == [("user", "one, better"), ("user", "two")]


def test_a_rewind_takes_away_that_message_and_all_after_it():
    conversion = read(lines(user("a", "one"), reply("b", "two"), user("c", "three"), {"$rewindTo": "b"}, user("d", "four")))
    assert [message.body["content"] for message in conversion.messages] == ["one", "four"]
    assert dict(conversion.off_branch) == {"b": "rewound", "c": "rewound"}


def test_a_rewind_to_an_unknown_message_takes_away_everything():
    assert told(user("a", "one"), {"$rewindTo": "nobody"}, user("d", "four")) == [("user", "four")]


def test_a_list_that_is_set_replaces_everything():
    assert told(user("a", "one"), {"$set": {"messages": [user("b", "two")]}}, user("c", "three")) == [
        ("user", "two"),
        ("user", "three"),
    ]


def test_a_compression_is_a_summary_and_what_it_stands_for_is_kept():
    conversion = read(sample("compressed.jsonl"))
    context, summary, *rest = [message.body for message in conversion.messages]
    assert context["metadata"]["origin"] == summary["metadata"]["origin"] == "harness"
    assert summary["metadata"]["compaction"] == {}
    assert summary["content"].startswith("<state_snapshot>")
    assert [body["role"] for body in rest] == ["assistant", "assistant", "tool", "assistant"]
    assert set(conversion.off_branch.values()) == {"compacted"}
    assert "rewound" not in dump(conversion.report)


def test_a_call_and_its_result_stand_in_one_record_and_are_told_once():
    """A user's record behind them tells the result again."""
    first, asked, answered = bodies(
        user("a", "go"), reply("b", toolCalls=[call("c1", response("c1", "done"))]), user("r", response("c1", "done"))
    )
    assert first["content"] == "go"
    assert asked["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": SHELL, "arguments": '{"command":"c1"}'}},
    ]
    assert (answered["role"], answered["tool_call_id"], answered["content"]) == ("tool", "c1", "done")
    assert answered["metadata"]["is_error"] is False


def test_calls_in_parallel_have_their_own_results_in_the_order_of_the_calls():
    """After a compression each call holds the responses of all."""
    both = [response("c1", "one"), response("c2", "two")]
    messages = bodies(user("a", "go"), reply("b", toolCalls=[call("c1", *both), call("c2", *both)]))
    assert [(body["tool_call_id"], body["content"]) for body in messages if body["role"] == "tool"] == [
        ("c1", "one"),
        ("c2", "two"),
    ]


def test_a_result_that_only_the_users_record_tells_is_a_result():
    content = [{"functionCall": {"id": "c1", "name": SHELL, "args": {}}, "thoughtSignature": "U0lH"}]
    messages = bodies(user("a", "go"), reply("b", content), user("r", response("c1", "done"), "and now?"))
    assert [(body["role"], body["content"]) for body in messages] == [
        ("user", "go"),
        ("assistant", None),
        ("tool", "done"),
        ("user", "and now?"),
    ]


def test_a_call_without_a_result_is_told_as_such():
    conversion = read(lines(user("a", "go"), reply("b", toolCalls=[call("c1", status="executing") | {"result": None}])))
    assert [message.body["role"] for message in conversion.messages] == ["user", "assistant"]
    assert [item["path"] for item in conversion.report["warnings"]] == ["fields/gemini.toolCalls"]


@pytest.mark.parametrize(("status", "said"), [("error", "error"), ("cancelled", "interrupted")])
def test_a_tool_that_failed_or_was_cancelled_says_so(status, said):
    failed = {"functionResponse": {"id": "c1", "name": SHELL, "response": {"error": "no"}}}
    result = bodies(reply("b", toolCalls=[call("c1", failed, status=status)]))[1]
    assert (result["content"], result["metadata"]["is_error"], result["metadata"]["status"]) == ("no", True, said)


def test_a_response_of_another_shape_is_told_as_json():
    odd = {"functionResponse": {"id": "c1", "name": SHELL, "response": {"a": 1, "b": [2]}}}
    assert bodies(reply("b", toolCalls=[call("c1", odd)]))[1]["content"] == '{"a":1,"b":[2]}'


def test_a_picture_that_a_tool_read_belongs_to_its_result():
    picture = next(message.body for message in read(sample("turns.jsonl")).messages if isinstance(message.body["content"], list))
    assert picture["role"] == "user"
    result = [message.body for message in read(sample("turns.jsonl")).messages if message.body["role"] == "tool"][-1]
    assert [part["type"] for part in result["content"]] == ["text", "image_url"]
    assert result["content"][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


def test_thoughts_are_thinking_and_costs_count_the_cache_apart():
    body = bodies(
        reply(
            "b",
            "Done.",
            thoughts=[{"subject": "Plan", "description": "first"}, {"subject": "", "description": "then"}],
            tokens={"input": 1000, "output": 20, "cached": 400, "thoughts": 7, "tool": 0, "total": 1027},
            model="gemini-2.5-flash",
        )
    )[0]
    assert body["thinking"]["content"] == "**Plan** first\n\nthen"
    assert body["thinking"]["items"][1] == {"text": "then", "provider": "google", "model": "gemini-2.5-flash"}
    assert dump(body["metadata"]["usage"]) == (
        '{"input_tokens":600,"output_tokens":20,"cache_read_input_tokens":400,"reasoning_tokens":7}'
    )


def test_thoughts_and_calls_in_a_content_are_what_the_model_is_sent():
    content = [{"text": "hm", "thought": True}, {"text": "I go."}, {"functionCall": {"id": "c1", "name": SHELL, "args": {"n": 1}}}]
    body = bodies(reply("b", content, thoughts=[{"subject": "", "description": "hm"}]))[0]
    assert (body["content"], body["thinking"]["content"]) == ("I go.", "hm")
    assert body["tool_calls"][0]["function"]["arguments"] == '{"n":1}'


def test_a_signature_stays_at_home():
    content = [{"functionCall": {"id": "c1", "name": SHELL, "args": {}}, "thoughtSignature": "U0lH"}]
    conversion = read(lines(reply("b", content)))
    shown = {name: value for name, value in conversion.messages[0].body.items() if name != "native"}
    assert "U0lH" not in dump(shown)
    assert "U0lH" in dump(conversion.messages[0].body["native"])
    assert any(item["reason"].startswith("signed") for item in conversion.report["kept_native"])


def test_the_harness_own_context_is_marked_and_told_once():
    first, second = [user("ctx", f"<session_context>day {day}</session_context>") for day in (1, 2)]
    messages = bodies(first, user("a", "go"), {"$set": {"messages": [second, user("a", "go")]}})
    assert [(body["metadata"]["origin"], body["content"]) for body in messages] == [
        ("harness", "<session_context>day 1</session_context>"),
        ("human", "go"),
    ]


def test_what_only_the_screen_shows_is_no_message():
    records = [{"id": kind, "timestamp": "x", "type": kind, "content": kind} for kind in ("info", "error", "warning")]
    assert told(user("a", "go"), *records) == [("user", "go")]


def test_a_resumed_session_says_the_same_in_the_same_words():
    """All of it is told again in one line, with less beside it: ids, models, costs and times stay what they were."""
    before = [message.body for message in read(sample("turns.jsonl")).messages]
    after = [message.body for message in read(sample("resumed.jsonl")).messages]
    assert list(map(dump, after[: len(before)])) == list(map(dump, before))
    assert [body["content"] for body in after[len(before) :]] == ["/tmp is where it was lost", "Then look there."]


def test_what_is_pushed_while_it_grows_comes_home_whole(monkeypatch):
    monkeypatch.setattr(line_blocks, "BLOCK_LINES", 4)
    whole = sample("rewound.jsonl")
    pushed: dict[str, dict] = {}
    for end in range(len(whole)):
        pushed |= {entry.append_id: entry.body for entry in read(whole[:end], is_final=False).entries}
    conversion = read(whole)
    pushed |= {entry.append_id: entry.body for entry in conversion.entries}
    written = write(Session(conversion.meta, tuple(pushed.values())), Target())
    assert [json.loads(line) for line in written.records] == [json.loads(line) for line in whole]


def test_the_one_document_of_older_versions_is_read_and_comes_home():
    conversion = read(sample("older.json"))
    assert conversion.version == "json"
    assert [message.body["role"] for message in conversion.messages] == ["user", "assistant", "tool"]
    written = write(session_of(conversion), Target())
    assert [json.loads(line) for line in written.records] == [json.loads((SAMPLES / "older.json").read_text("utf-8"))]


def test_the_session_says_where_it_was_and_what_it_is_about():
    meta = read(sample("turns.jsonl")).meta
    assert meta == {
        "title": "What colour is the sash?",
        "agent_source": "gemini",
        "native_session_id": "6b1f0c5e-2f53-4b0e-9a55-0d8f3c1a7e21",
        "cwd": "/home/runner/relay",
    }
    assert read(lines(user("a", "go"), {"$set": {"summary": "A relay"}})).meta["title"] == "A relay"


def test_a_subagents_file_and_the_call_that_started_it_are_linked():
    header = HEADER | {"kind": "subagent", "directories": ["/home/runner/relay"]}
    child = read([json.dumps(record).encode() for record in (header, user("a", "look"))])
    assert child.meta["subagent"] == {"agent_id": HEADER["sessionId"]}
    assert child.meta["cwd"] == "/home/runner/relay"
    assert child.messages[0].body["metadata"]["origin"] == "agent"
    parent = read(lines(reply("b", toolCalls=[call("c1", response("c1", "done"), agentId=HEADER["sessionId"])])))
    assert parent.subagents == {HEADER["sessionId"]: "c1"}


def test_arguments_keep_their_order_and_their_numbers():
    body = read(sample("oddities.jsonl")).messages[0].body
    assert body["tool_calls"][0]["function"]["arguments"] == '{"n":12345678901234567890123,"f":1.10,"z":1,"a":2}'


def test_what_cannot_be_read_is_kept_and_told():
    conversion = read(sample("oddities.jsonl"))
    reasons = {item["reason"]: item["count"] for item in conversion.report["warnings"] if item["path"] == "lines/unreadable"}
    assert reasons["not JSON"] == 1
    assert reasons["the last line is torn: its end was not written"] == 1
    assert reasons["JSON, but no object"] == 1
    assert "\ud800" in conversion.messages[1].body["content"]
    assert "\0" in conversion.messages[1].body["content"]


def test_a_file_with_a_mark_and_windows_line_ends_is_read():
    raw = b"\xef\xbb\xbf" + b"".join(line.replace(b"\n", b"\r\n") for line in lines(user("a", "go")))
    conversion = read(raw.splitlines(keepends=True))
    assert [message.body["content"] for message in conversion.messages] == ["go"]
    assert {item["path"] for item in conversion.report["warnings"]} == {"file"}


def test_nothing_is_a_session_without_messages():
    conversion = read([])
    assert (conversion.entries, conversion.meta) == ((), {"agent_source": "gemini"})
