"""What others said as lines of Codex; what came from it as it was; and what Codex would refuse, told before it is written."""

import pytest
from rollouts import THREAD, TIME, assistant, call, compacted, event, item, meta, result, rollout, user

from adapters.codex.reader import read
from adapters.codex.validator import problems
from adapters.codex.writer import write
from adapters.fates_out import NO_RESULT, ORPHAN
from adapters.made_names import is_uuid
from adapters.session import Session, session_of
from adapters.target import Target, UnknownVersion
from eventstore.wire.codec import parse

NOW = Target(now_ms=1_800_000_000_000, cwd="/work")
ME = {"agent_source": "other", "native_session_id": "s1"}
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def calls(*ids, arguments="{}"):
    return [{"id": name, "type": "function", "function": {"name": "bash", "arguments": arguments}} for name in ids]


def written(*messages, target=NOW, meta=ME):
    bodies = [{"append_id": f"m{at}", "content": None} | message for at, message in enumerate(messages)]
    return write(Session(meta, tuple(bodies)), target)


def values(done):
    return [parse(line.decode()) for line in done.records]


def payloads(done, kind="response_item"):
    return [line["payload"] for line in values(done) if line["type"] == kind]


def told(done, kind, path):
    return [item["reason"] for item in done.report[kind] if item["path"] == path]


def test_a_session_begins_with_what_it_is_at_the_place_where_codex_looks():
    done = written({"role": "user", "content": "Hi.", "created_at": "2026-03-01T10:00:00Z"})
    [own] = payloads(done, "session_meta")
    assert is_uuid(own["id"])
    assert own == {
        "id": done.session_id,
        "timestamp": "2026-03-01T10:00:00.000Z",
        "cwd": "/work",
        "originator": "tasuki",
        "cli_version": "0.171.0",
        "source": "cli",
    }
    assert done.path == f"sessions/2026/03/01/rollout-2026-03-01T10-00-00-{done.session_id}.jsonl"
    assert problems(done.records) == []


def test_each_thing_said_is_an_item_and_texts_are_shown_by_an_event():
    done = written({"role": "user", "content": "Go."}, {"role": "assistant", "content": "Done.", "tool_calls": calls("c1")})
    assert [(p["type"], p.get("role")) for p in payloads(done)] == [
        ("message", "user"),
        ("message", "assistant"),
        ("function_call", None),
        ("function_call_output", None),
    ]
    assert [p["message"] for p in payloads(done, "event_msg")] == ["Go.", "Done."]


def test_a_name_that_is_no_uuid_becomes_one():
    """Codex starts a new session, without a word, when it is asked to resume what is no UUID."""
    named = written({"role": "user", "content": "x"}, target=Target(session_id="my session"))
    assert is_uuid(named.session_id)
    assert named.session_id == written({"role": "user", "content": "x"}, target=Target(session_id="my session")).session_id
    assert written({"role": "user", "content": "x"}, target=Target(session_id=THREAD)).session_id == THREAD
    assert problems(rollout(meta(id="my session"), user("x"))) == [
        "line 1: the session's id is no UUID; resuming it starts a new session"
    ]


def test_a_call_without_a_result_gets_one_that_says_so():
    done = written(
        {"role": "user", "content": "Go."},
        {"role": "assistant", "tool_calls": calls("c1", "c2")},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
    )
    outputs = [(p["call_id"], p["output"]) for p in payloads(done) if p["type"] == "function_call_output"]
    assert outputs == [("c1", NO_RESULT), ("c2", "two")]
    assert told(done, "synthesised", "entries/tool") == ["a call has no result; one that says so is written"]
    assert problems(rollout(meta(), user("Go."), call("c1"))) == ["call c1: no result; the agent makes one up"]


def test_a_result_without_a_call_which_codex_drops_is_told_as_text():
    done = written({"role": "user", "content": "Go."}, {"role": "tool", "tool_call_id": "c9", "content": "late"})
    assert payloads(done)[-1]["content"] == [{"type": "input_text", "text": ORPHAN}, {"type": "input_text", "text": "late"}]
    assert told(done, "degraded", "entries/tool") == ["its call is not in the session; told as text"]
    assert problems(rollout(meta(), user("Go."), result("c9"))) == ["result c9: answers no call, and is dropped"]


def test_results_keep_the_order_in_which_they_came_and_early_ones_are_put_behind_their_call():
    done = written(
        {"role": "tool", "tool_call_id": "c3", "content": "early"},
        {"role": "assistant", "tool_calls": calls("c1", "c2", "c3")},
        {"role": "tool", "tool_call_id": "c2", "content": "second"},
        {"role": "user", "content": "Wait."},
        {"role": "tool", "tool_call_id": "c1", "content": "first"},
    )
    names = [p.get("call_id", "-") for p in payloads(done)]
    assert names == ["c1", "c2", "c3", "c3", "c2", "-", "c1"]
    assert told(done, "warnings", "entries/tool") == ["the result stood before its call; it is put behind it"]
    assert problems(done.records) == []
    assert problems(rollout(meta(), result("c1"), call("c1"))) == ["result c1: stands before its call"]


def test_of_two_results_the_first_counts_and_an_id_used_twice_becomes_two():
    done = written(
        {"role": "assistant", "tool_calls": calls("c1")},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "assistant", "tool_calls": calls("c1", "not an id!")},
        {"role": "tool", "tool_call_id": "c1", "content": "two"},
        {"role": "tool", "tool_call_id": "c1", "content": "again"},
    )
    assert [p["output"] for p in payloads(done) if p["type"] == "function_call_output"] == ["one", NO_RESULT, "two"]
    ids = [p["call_id"] for p in payloads(done) if p["type"] == "function_call"]
    assert ids[0] == "c1"
    assert len(set(ids)) == 3
    assert problems(done.records) == []


def test_arguments_stay_the_string_that_they_were():
    raw = '{"b":1.10,"a":12345678901234567890123,"a":'
    done = written({"role": "assistant", "tool_calls": calls("c1", arguments=raw)})
    assert payloads(done)[0]["arguments"] == raw


def test_what_utf_8_cannot_carry_is_replaced_and_told():
    done = written({"role": "user", "content": "\ud800 half\0"})
    assert payloads(done)[0]["content"][0]["text"] == "\ufffd half\0"
    assert len(told(done, "degraded", "fields/user.content")) == 1
    assert problems(rollout(meta(), user("x"), {**user("\ud800"), "timestamp": TIME})) != []


def test_an_image_is_carried_and_a_detail_with_which_codex_leaves_it_out_is_not():
    def image(detail):
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": detail}}

    done = written({"role": "user", "content": [image("low"), image("high")]}, {"role": "assistant", "content": [image("high")]})
    first, second = payloads(done)[0]["content"]
    assert "detail" not in first
    assert second == {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "high"}
    assert payloads(done)[1]["content"] == [{"type": "output_text", "text": "[an image that could not be carried over]"}]


def test_readable_thinking_is_shown_and_not_sent_and_sealed_one_stays():
    """OpenAI's API refuses thinking that it did not seal itself, and with it every later turn."""
    items = [{"text": "Open."}, {"text": "Closed.", "signature": "s"}]
    done = written({"role": "assistant", "content": "x", "thinking": {"content": None, "encrypted": False, "items": items}})
    assert [p["text"] for p in payloads(done, "event_msg") if p["type"] == "agent_reasoning"] == ["Open."]
    assert [p["type"] for p in payloads(done)] == ["message"]
    assert len(told(done, "degraded", "fields/assistant.thinking.items[].text")) == 1
    assert len(told(done, "kept_native", "fields/assistant.thinking.items[].signature")) == 1


def test_a_long_result_is_written_whole_and_told_to_be_shown_in_part():
    done = written(
        {"role": "assistant", "tool_calls": calls("c1")}, {"role": "tool", "tool_call_id": "c1", "content": "x" * 20_000}
    )
    assert payloads(done)[-1]["output"] == "x" * 20_000
    assert len(told(done, "warnings", "fields/tool.content")) == 1


def test_another_harness_is_not_live_here():
    done = written(
        {"role": "system", "content": "You are another."},
        {"role": "user", "content": "<system-reminder>", "metadata": {"origin": "harness"}},
        {"role": "user", "content": "Go."},
    )
    assert [p["content"][0]["text"] for p in payloads(done)] == ["Go."]


def test_a_summary_takes_the_place_of_what_was_before():
    done = written(
        {"role": "user", "content": "1"},
        {"role": "assistant", "tool_calls": calls("c1")},
        {"role": "user", "content": "Sum.", "metadata": {"origin": "harness", "compaction": {}}},
        {"role": "tool", "tool_call_id": "c1", "content": "late"},
    )
    assert payloads(done, "compacted")[0]["replacement_history"][0]["content"][0]["text"] == "Sum."
    assert problems(done.records) == []
    assert read(done.records).messages[0].body["content"] == "Sum."


def test_times_are_never_ahead():
    done = written({"role": "user", "content": "x", "created_at": "2999-01-01T00:00:00Z"})
    assert {line["timestamp"] for line in values(done)} == {"2027-01-15T08:00:00.000Z"}
    assert len(told(done, "degraded", "fields/user.created_at")) == 1


def test_a_version_that_nobody_knows_is_refused():
    with pytest.raises(UnknownVersion):
        written({"role": "user", "content": "x"}, target=Target(version="1.0.0"))
    assert written({"role": "user", "content": "x"}, target=Target(version="0.142.5")).version == "0.142.5"


# Home.


def sealed():
    return item("reasoning", summary=[], encrypted_content="gAAA")


def test_home_it_goes_as_it_was_dead_lines_too():
    lines = rollout(
        meta(), user("1"), sealed(), call("c1"), event("thread_rolled_back", num_turns=1), result("zz"), user("2"), {"odd": [1.10]}
    )
    done = write(session_of(read(lines)), Target())
    assert list(done.records) == lines
    assert done.session_id == THREAD
    assert done.path == f"sessions/2026/11/29/rollout-2026-11-29T10-00-00-{THREAD}.jsonl"


def test_another_id_and_another_folder_are_written_and_told():
    context = {"timestamp": TIME, "type": "turn_context", "payload": {"cwd": "/home/ann/relay"}}
    other = "11111111-1111-4111-8111-111111111111"
    done = write(session_of(read(rollout(meta(session_id=THREAD), context, user("x")))), Target(session_id=other, cwd="/new"))
    own, moved = payloads(done, "session_meta")[0], payloads(done, "turn_context")[0]
    assert (own["id"], own["session_id"], own["cwd"], moved["cwd"]) == (other, other, "/new", "/new")
    assert other in done.path
    assert {item["path"] for item in done.report["warnings"]} == {"lines/cwd", "lines/id", "lines/session_id"}


def test_at_another_provider_what_the_old_one_sealed_is_left_out():
    """Codex refuses to resume with another provider than the session names, and the provider what another one sealed."""
    sum_up = compacted("", item("compaction", encrypted_content="gAAA"), user("kept"))
    settings = event("thread_settings_applied", thread_settings={"model_provider_id": "openai"})
    lines = rollout(meta(), user("0"), settings, sum_up, user("1"), sealed(), assistant("2"))
    session = session_of(read(lines))
    assert list(write(session, Target(provider="openai")).records) == lines
    done = write(session, Target(provider="local"))
    assert payloads(done, "session_meta")[0]["model_provider"] == "local"
    assert payloads(done, "event_msg")[0]["thread_settings"] == {"model_provider_id": "local"}
    assert "gAAA" not in str(done.records)
    assert [p["content"][0]["text"] for p in payloads(done)] == ["0", "1", "2"]
    assert {item["path"] for item in done.report["warnings"]} == {
        "lines/model_provider",
        "lines/thread_settings",
        "lines/compacted",
        "lines/response_item.reasoning",
    }


def test_what_others_said_stands_behind_with_numbers_that_go_on():
    lines = rollout(meta() | {"ordinal": 0}, user("1") | {"ordinal": 1}, event("task_complete") | {"ordinal": 2})
    began = session_of(read(lines))
    more = {"role": "assistant", "content": "2", "append_id": "x"}
    done = write(Session(began.meta, (*began.entries, more)), Target())
    assert list(done.records[:3]) == lines
    assert [str(line["ordinal"]) for line in values(done)[3:]] == ["3", "4"]


def test_what_others_said_in_between_stands_before_the_next_message_from_home():
    began = session_of(read(rollout(meta(), user("1"), call("c1"), event("x"), result("c1"), assistant("3"))))
    ours, natives = began.messages, began.natives
    said = {"role": "user", "content": "2", "append_id": "x"}
    done = write(Session(began.meta, (*ours[:3], said, *ours[3:], *natives)), Target())
    assert [p.get("call_id") or p["content"][0]["text"] for p in payloads(done)] == ["1", "c1", "c1", "2", "3"]


def test_a_result_from_elsewhere_answers_a_call_from_home():
    began = session_of(read(rollout(meta(), user("1"), call("c1"))))
    more = {"role": "tool", "tool_call_id": "c1", "content": "done", "append_id": "x"}
    done = write(Session(began.meta, (*began.entries, more)), Target())
    assert problems(done.records) == []
    assert payloads(done)[-1] == {"type": "function_call_output", "call_id": "c1", "output": "done"}


@pytest.mark.parametrize(
    "native",
    [
        {"raw": "no JSON"},
        {"raw": '"no object"'},
        {"record": {}, "said": [[[], ["content"]]]},
        {"record": {}, "said": [[["x"], [], "data"]]},
    ],
)
def test_a_message_whose_record_is_no_line_of_its_own_is_converted_from_what_it_says(native):
    began = session_of(read(rollout(meta(), user("1"))))
    more = {
        "role": "user",
        "content": "2",
        "append_id": "x",
        "native": {"agent": "codex", "version": "0.171.0", "line": 3} | native,
    }
    done = write(Session(began.meta, (*began.entries, more)), Target())
    assert [p["content"][0]["text"] for p in payloads(done)] == ["1", "2"]
    assert problems(done.records) == []
    assert told(done, "warnings", "entries/user") == ["its record is not whole; written from what the message says"]


def test_a_torn_line_that_was_written_on_later_is_there_once():
    lines = rollout(meta(), user("1"), event("task_started"))
    first = session_of(read([*lines[:2], lines[2][:30]]))
    later = session_of(read(lines))
    done = write(Session(later.meta, (*first.entries, *later.natives)), Target())
    assert list(done.records) == lines


def test_a_sub_agent_names_its_parents_id_here():
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    child = session_of(read(rollout(meta(id="22222222-2222-4222-8222-222222222222", source=spawn), user("Do."))))
    parent = session_of(read(rollout(meta(), user("Go."))))
    other = "11111111-1111-4111-8111-111111111111"
    done = write(parent, Target(session_id=other), [child])
    own = payloads(done.subagents[0], "session_meta")[0]
    assert own["id"] == "22222222-2222-4222-8222-222222222222"
    assert own["source"]["subagent"]["thread_spawn"]["parent_thread_id"] == other


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([user("x")], "line 1: not the session's own description, so it is not found"),
        ([meta(source=None), user("x")], "line 1: no source"),
        ([meta()], "nothing was said"),
        ([meta(), {"type": "event_msg", "payload": {"type": "x"}}, user("x")], "line 2: timestamp is no time"),
        ([meta(), user("x")["payload"]], "line 2: no envelope: this version of the agent passes it over"),
        (
            [meta(), item("message", role="user"), user("x")],
            "line 2: an item that lacks what it must have: the line is passed over",
        ),
        (
            [meta(), item("message", role="assistant", content=[{"type": "input_text", "text": "x"}])],
            "line 2: a text of the other side's kind, which the API refuses",
        ),
        ([meta(), call("c1"), result("c1"), result("c1")], "call c1: answered twice"),
        ([meta(), call("c1"), result("c1"), call("c1")], "call c1: two of one id"),
    ],
)
def test_what_codex_would_refuse_or_pass_over(lines, problem):
    assert problem in problems(rollout(*lines))
