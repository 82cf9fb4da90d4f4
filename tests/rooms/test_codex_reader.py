"""Codex's lines as messages: what is live, who said it, what is kept beside, and what stays when the file grows."""

import pytest
from rollouts import TIME, assistant, call, compacted, event, item, meta, result, rollout, user

from adapters import registry
from adapters.codex.detect import detect
from adapters.codex.reader import read
from adapters.codex.writer import write
from adapters.session import session_of
from adapters.target import Target
from eventstore.wire.codec import parse


def said(*lines):
    return [message.body for message in read(rollout(meta(), *lines)).messages]


def contents(*lines):
    return [message["content"] for message in said(*lines)]


def test_response_items_are_the_truth_and_events_only_show_them():
    """A text stands up to three times in a file; it is one message."""
    shown = event("user_message", message="Hi.", images=[]), event("item_completed", item={"type": "UserMessage", "id": "1"})
    conversion = read(rollout(meta(), user("Hi."), *shown, event("agent_message", message="Hello."), assistant("Hello.")))
    assert [(m.body["role"], m.body["content"]) for m in conversion.messages] == [("user", "Hi."), ("assistant", "Hello.")]
    kept = {item["path"]: item["count"] for item in conversion.report["kept_native"] if item["path"].startswith("lines/")}
    assert kept == {
        "lines/session_meta": 1,
        "lines/event_msg.user_message": 1,
        "lines/event_msg.item_completed": 1,
        "lines/event_msg.agent_message": 1,
    }


def test_a_reply_is_a_message_for_each_item_joined_by_its_reply_id():
    reasoning = item("reasoning", id="rs_1", summary=[{"type": "summary_text", "text": "Look."}], encrypted_content="gAAA")
    lines = user("Go."), reasoning, assistant("Both."), call("c1", '{"a": 1.10}'), call("c2", "{"), result("c2"), result("c1")
    messages = said(*lines, assistant("Done."))
    assert [message["role"] for message in messages] == ["user", *["assistant"] * 4, "tool", "tool", "assistant"]
    replies = [message["metadata"].get("reply_id") for message in messages]
    assert replies[1:5] == [replies[1]] * 4
    assert replies[1] != replies[7]
    assert [m["tool_calls"][0]["function"]["arguments"] for m in messages[3:5]] == ['{"a": 1.10}', "{"]
    assert [m["tool_call_id"] for m in messages[5:7]] == ["c2", "c1"]


def test_a_summary_of_thinking_is_readable_and_what_is_encrypted_is_an_item_of_its_own():
    reasoning = item("reasoning", id="rs_1", summary=[{"type": "summary_text", "text": "Look."}], encrypted_content="gAAA")
    thinking = said({"timestamp": TIME, "type": "turn_context", "payload": {"model": "gpt-5"}}, reasoning)[0]["thinking"]
    assert thinking == {
        "content": "Look.",
        "encrypted": True,
        "items": [{"text": "Look."}, {"data": "gAAA", "id": "rs_1", "provider": "openai", "model": "gpt-5"}],
    }


@pytest.mark.parametrize(
    ("line", "role", "origin"),
    [
        (user("Please."), "user", "human"),
        (user("<environment_context>\n<cwd>/x</cwd>"), "user", "harness"),
        (user("# AGENTS.md instructions for /x"), "user", "harness"),
        (user("<turn_aborted>\nThe user stopped it."), "user", "harness"),
        (item("message", role="developer", content=[{"type": "input_text", "text": "Be kind."}]), "system", "harness"),
        (item("agent_message", author="a", content=[{"type": "input_text", "text": "From another."}]), "user", "agent"),
    ],
)
def test_who_said_it(line, role, origin):
    [message] = said(line)
    assert (message["role"], message["metadata"]["origin"]) == (role, origin)


def test_newer_versions_say_themselves_where_a_text_is_from():
    def told(kind):
        return {"content_item_metadata": [{"provenance": {"type": kind}}]}

    own = user("<skill>mine</skill>", internal_chat_message_metadata_passthrough=told("user"))
    hook = user("Remember.", internal_chat_message_metadata_passthrough=told("hook"))
    assert [message["metadata"]["origin"] for message in said(own, hook)] == ["human", "harness"]


def test_a_summary_takes_the_place_of_all_before():
    lines = user("1"), assistant("2"), compacted("Sum.", user("1"), user("Sum.")), user("3")
    messages = said(*lines)
    assert [message["content"] for message in messages] == ["1", "Sum.", "3"]
    assert ["compaction" in message["metadata"] for message in messages] == [True, False, False]
    assert list(read(rollout(meta(), *lines)).off_branch.values()) == ["compacted", "compacted"]


def test_a_summary_without_a_history_keeps_the_prompts():
    assert contents(user("1"), assistant("2"), compacted("Sum."), user("3")) == ["1", "Sum.", "3"]


def test_an_encrypted_summary_opens_only_at_home():
    sealed = item("compaction", encrypted_content="gAAA")
    [message] = said(user("1"), compacted("", sealed))
    assert message["thinking"]["encrypted"]
    assert message["metadata"]["compaction"] == {}


def test_turns_that_were_taken_back_are_not_live():
    lines = user("1"), assistant("2"), user("3"), assistant("4"), user("5"), event("thread_rolled_back", num_turns=2), user("6")
    assert contents(*lines) == ["1", "2", "6"]
    assert set(read(rollout(meta(), *lines)).off_branch.values()) == {"rolled_back"}


def test_a_rollback_beyond_a_summary_finds_what_was_live_before():
    lines = user("1"), assistant("2"), compacted("Sum.", user("Sum.")), user("3"), event("thread_rolled_back", num_turns=2)
    assert contents(*lines, user("4")) == ["4"]
    only_one = user("0"), *lines[:-1], event("thread_rolled_back", num_turns=1)
    assert contents(*only_one, user("4")) == ["Sum.", "4"]


def test_a_turn_begins_with_its_task_so_a_summary_before_its_prompt_goes_with_it():
    begun = user("1"), assistant("2"), event("task_started"), compacted("Sum.", user("Sum.")), user("3")
    assert contents(*begun, event("thread_rolled_back", num_turns=1), user("4")) == ["1", "2", "4"]


def test_only_calls_and_results_that_codex_can_read_are_messages():
    broken = item("function_call", name="f", arguments="{}"), item("function_call_output", output="x"), item("message", role="odd")
    assert said(*broken) == []


@pytest.mark.parametrize(
    ("before", "output", "is_error"),
    [
        ([], "Chunk ID: 1\nProcess exited with code 0\nOutput:\nx", False),
        ([], "Process exited with code 7\nOutput:\nProcess exited with code 0", True),
        ([], '{"output":"x","metadata":{"exit_code":2}}', True),
        ([], {"content": "x", "success": False}, True),
        ([], "the tool said: Process exited", None),
        ([event("exec_command_end", call_id="c1", exit_code=1)], "x", True),
        ([event("item_completed", item={"type": "CommandExecution", "id": "c1", "exit_code": 0})], "x", False),
        ([event("patch_apply_end", call_id="c1", success=False)], "x", True),
    ],
)
def test_whether_a_tool_failed(before, output, is_error):
    message = said(call("c1"), *before, result("c1", output))[1]
    assert message["metadata"].get("is_error") is is_error


def test_other_calls_are_calls_too():
    patch = (
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="p"),
        item("custom_tool_call_output", call_id="p", output="ok"),
    )
    shell = item("local_shell_call", call_id="s", status="completed", action={"type": "exec", "command": ["ls"]})
    messages = said(*patch, shell, result("s"))
    assert messages[0]["tool_calls"][0]["function"] == {"name": "apply_patch", "arguments": "*** Begin Patch"}
    assert messages[2]["tool_calls"][0]["function"]["name"] == "local_shell"
    assert parse(messages[2]["tool_calls"][0]["function"]["arguments"]) == {"type": "exec", "command": ["ls"]}


def test_an_image_is_a_part():
    seen = item("message", role="user", content=[{"type": "input_text", "text": "See"}, {"type": "input_image", "image_url": "u"}])
    assert contents(seen) == [[{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "u"}}]]


def test_the_first_description_is_the_files_own():
    conversion = read(
        rollout(meta(forked_from_id="f", git={"branch": "main"}), meta(id="another", cwd="/else"), user("Title\nmore"))
    )
    assert conversion.meta == {
        "title": "Title",
        "agent_source": "codex",
        "agent_version": "0.171.0",
        "native_session_id": meta()["payload"]["id"],
        "cwd": "/home/ann/relay",
        "git_branch": "main",
        "provider": "openai",
        "source": "cli",
        "forked_from": {"session_id": "f"},
    }


def test_a_sub_agent_names_who_started_it_and_which_call_did():
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "depth": 1, "agent_role": "reviewer"}}}
    child = read(rollout(meta(source=spawn), user("Review.")))
    assert child.meta["subagent"] == {"agent_id": meta()["payload"]["id"], "parent_session_id": "p", "agent_type": "reviewer"}
    assert child.messages[0].body["metadata"]["origin"] == "agent"
    parent = read(rollout(meta(), call("c1", name="spawn_agent"), result("c1", '{"agent_id":"a1"}')))
    assert parent.subagents == {"a1": "c1"}


def test_a_torn_last_line_and_one_that_is_no_json_are_kept_and_told():
    lines = [*rollout(meta(), user("Hi.")), b"no json\n", b'{"timestamp": "2026']
    conversion = read(lines)
    assert [item["reason"] for item in conversion.report["warnings"]] == [
        "not JSON",
        "the last line is torn: its end was not written",
    ]
    assert write(session_of(conversion), Target()).records[-2:] == (b"no json\n", b'{"timestamp": "2026\n')


def test_a_byte_order_mark_and_cr_lf_are_read():
    lines = [b"\xef\xbb\xbf" + rollout(meta())[0], *(line[:-1] + b"\r\n" for line in rollout(user("Hi.")))]
    assert [message.body["content"] for message in read(lines).messages] == ["Hi."]
    assert registry.detect(lines) == registry.Detection("codex", "0.171.0", 1.0)


def test_the_bare_lines_of_the_first_versions_are_read():
    lines = rollout(
        {"id": "s", "timestamp": TIME, "instructions": None},
        {"record_type": "state"},
        user("Hi.")["payload"],
        call("c1")["payload"],
        result("c1", "x")["payload"],
    )
    assert detect(lines) == (1.0, "")
    conversion = read(lines)
    assert [message.body["role"] for message in conversion.messages] == ["user", "assistant", "tool"]
    assert list(write(session_of(conversion), Target()).records) == lines


def test_a_running_session_holds_back_its_newest_native_records():
    lines = rollout(meta(), user("Hi."), event("task_started"))
    running, rested = read(lines, is_final=False), read(lines)
    assert (len(running.natives), running.held_records) == (0, 2)
    assert (len(rested.natives), rested.held_records) == (1, 0)
    assert [m.append_id for m in running.messages] == [m.append_id for m in rested.messages]


def test_equal_lines_are_messages_of_their_own():
    first, second = read(rollout(meta(), user("Again."), user("Again."))).messages
    assert first.append_id != second.append_id


def test_long_text_is_kept_once():
    text = "x" * 500
    message = read(rollout(meta(), result("c1", text), assistant(text))).messages
    assert all(str(one.body).count(text) == 1 for one in message)
