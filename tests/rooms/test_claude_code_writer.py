"""What another agent said, as a Claude Code transcript: each trap of the formats, and each known bug of other converters.

Numbered bugs of other converters that cannot happen here, and why. They are about: reading or resuming inside the agents
themselves (a folder moved under a session, a session of another folder listed, a file overwritten on resume, a remote
folder that is gone, streams that were killed, an exception not recognised); a proxy, an account or a provider behind the
agent; other targets (OpenCode's projects and ids, Codex's and Gemini's and Copilot's records, Hermes's rows and
compressions, DSH's sequence numbers and frames: each in the tests of that agent); user interfaces that count or key
messages. What remains of them for a writer is below: pairs, order, parallel results, thinking, ids, times, tails.
"""

from typing import Any

import pytest
from standard_sessions import PNG

from adapters.carried import tool_name
from adapters.claude_code.names import project_key, session_uuid
from adapters.claude_code.reader import read
from adapters.claude_code.validator import problems
from adapters.claude_code.writer import write
from adapters.made_names import uuid_of
from adapters.session import Session, session_of
from adapters.target import Target, UnknownVersion
from adapters.written import Written
from eventstore.wire.codec import Number, dump, parse

Json = dict[str, Any]
NOW = Target(now_ms=1_800_000_000_000, cwd="/work")


def said(role: str, content: Any = None, **more: Any) -> Json:
    return {"role": role, "content": content, **more}


def calling(*ids: str, arguments: str = "{}", **more: Any) -> Json:
    function = {"name": "run", "arguments": arguments}
    return said("assistant", tool_calls=[{"id": name, "type": "function", "function": function} for name in ids], **more)


def result(name: str, content: Any = "done", **more: Any) -> Json:
    return said("tool", content, tool_call_id=name, **more)


def written(*messages: Json, meta: Json | None = None, target: Target = NOW) -> Written:
    named = [{"append_id": f"m{number}"} | message for number, message in enumerate(messages)]
    out = write(Session(meta or {"title": "T"}, tuple(parse(dump(message)) for message in named)), target)
    assert problems(out.records) in ([], ["nothing was said, so the session is not listed"])
    return out


def lines(out: Written) -> list[Json]:
    return [value for line in out.records if "uuid" in (value := parse(line.decode()))]


def contents(out: Written) -> list[Any]:
    return [line["message"]["content"] for line in lines(out) if "message" in line]


def reasons(out: Written, kind: str) -> list[str]:
    return [f"{item['path']}: {item['reason']}" for item in out.report[kind]]


# --- the file


def test_a_session_is_one_chain_of_full_envelopes():
    out = written(
        said("user", "Hello"), said("assistant", "Hi", metadata={"model": "gpt-5"}), meta={"title": "T", "git_branch": "main"}
    )
    first, second = lines(out)
    assert (first["parentUuid"], second["parentUuid"]) == (None, first["uuid"])
    assert first["cwd"] == "/work"
    assert first["gitBranch"] == "main"
    assert first["sessionId"] == second["sessionId"] == out.session_id
    assert second["message"] == {
        "model": "gpt-5",
        "id": second["message"]["id"],
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": Number("0"),
            "output_tokens": Number("0"),
            "cache_creation_input_tokens": Number("0"),
            "cache_read_input_tokens": Number("0"),
        },
    }
    assert parse(out.records[-1].decode()) == {"type": "custom-title", "customTitle": "T", "sessionId": out.session_id}


def test_a_session_id_is_the_wanted_one_or_made_from_it():
    ours = "0b0e5c1a-0000-4000-8000-000000000002"
    assert written(said("user", "x"), target=Target(session_id=ours)).session_id == ours
    made = written(said("user", "x"), target=Target(session_id="ses_1")).session_id
    assert made == session_uuid("ses_1")
    assert (
        written(said("user", "x"), meta={"agent_source": "opencode", "native_session_id": "ses_9"}).session_id
        == written(said("user", "y"), meta={"agent_source": "opencode", "native_session_id": "ses_9"}).session_id
    )


def test_a_session_of_another_agent_never_takes_that_agents_id_for_its_own():
    theirs = "0b0e5c1a-0000-4000-8000-000000000002"
    assert written(said("user", "x"), meta={"agent_source": "codex", "native_session_id": theirs}).session_id != theirs


def test_the_folder_is_that_of_the_target_host():
    assert written(said("user", "x"), target=Target(cwd="/home/ann/my.app")).path.startswith("projects/-home-ann-my-app/")
    assert project_key("C:\\Users\\ann") == "C--Users-ann"
    assert project_key("/a\u0301") == project_key("/á") == "--"
    assert project_key("/😀") == "---", "the agent counts UTF-16 units"
    assert project_key("/" + "a" * 199) == "-" + "a" * 199
    assert project_key("/" + "a" * 200) == "-" + "a" * 199 + "-" + "b6ymvl"


def test_without_a_folder_it_is_put_where_the_root_is_and_that_is_told():
    out = written(said("user", "x"), target=Target())
    assert (lines(out)[0]["cwd"], out.path) == ("/", f"projects/-/{out.session_id}.jsonl")
    assert [item["path"] for item in out.report["warnings"]] == ["fields/cwd"]


def test_an_unknown_version_is_refused_and_a_known_one_is_written():
    for version in ("3.0.0", "2", "latest", "2.1.144\n"):
        with pytest.raises(UnknownVersion):
            written(said("user", "x"), target=Target(version=version))
    assert lines(written(said("user", "x"), target=Target(version="2.1.39")))[0]["version"] == "2.1.39"


def test_times_are_in_order_and_not_ahead_of_the_clock():
    out = written(
        said("user", "a", created_at="2026-03-01T12:00:00.1234567+02:00"),
        said("user", "b", created_at="2026-03-01T09:00:00Z"),
        said("user", "c"),
        said("user", "d", created_at="2999-01-01T00:00:00Z"),
        said("user", "e", created_at="2026-06-30T23:59:60Z"),
    )
    now = "2027-01-15T08:00:00.000Z"
    assert [line["timestamp"] for line in lines(out)] == ["2026-03-01T10:00:00.123Z"] * 3 + [now] * 2
    assert len(reasons(out, "degraded")) == 2
    assert "fields/user.created_at: no time that can be written; that of the line before is taken" in reasons(out, "dropped")


# --- pairs (traps 3; bugs 1 to 4, 35, 40, 43, 46, 47)


def test_a_call_without_a_result_gets_one_that_says_so():
    out = written(said("user", "x"), calling("a"), said("user", "stop"))
    assert contents(out)[2][0]["is_error"] is True
    assert contents(out)[3] == "stop"
    assert reasons(out, "synthesised")[0].startswith("entries/tool: a call has no result")


def test_a_result_without_a_call_is_told_as_text():
    out = written(result("gone", "42"), said("user", "x"))
    assert [block["text"] for block in contents(out)[0]] == ["[A tool's result whose call is not in this session]", "42"]
    assert reasons(out, "degraded")[0] == "entries/tool: its call is not in the session; told as text"


def test_of_two_results_the_first_counts():
    out = written(said("user", "x"), calling("a"), result("a", "one"), result("a", "two"))
    assert [content[0]["content"] for content in contents(out)[2:]] == ["one"]
    assert "entries/tool: the call has a result already; the first counts" in reasons(out, "dropped")


def test_results_stand_right_behind_their_calls_whatever_came_between():
    out = written(
        said("user", "x"), calling("a", "b"), said("user", "wait"), result("b", "B"), said("assistant", "hm"), result("a", "A")
    )
    assert [content[0]["content"] for content in contents(out)[2:4]] == ["A", "B"]
    assert contents(out)[4:] == ["wait", [{"type": "text", "text": "hm"}]]
    assert reasons(out, "warnings") == ["entries/tool: the result stood elsewhere; it is put right behind its call"]
    assert out.report["warnings"][0]["count"] == 2


def test_an_id_used_again_and_one_that_is_no_id_are_replaced_on_both_sides():
    out = written(
        said("user", "x"),
        calling("a b", ""),
        result("a b"),
        result("", "second"),
        calling("c"),
        result("c"),
        calling("c"),
        result("c"),
    )
    calls = [
        block["id"] for content in contents(out) for block in content if isinstance(block, dict) and block["type"] == "tool_use"
    ]
    answers = [
        block["tool_use_id"] for content in contents(out) for block in content if isinstance(block, dict) and "tool_use_id" in block
    ]
    assert len(set(calls)) == 4
    assert calls == answers
    assert calls[2] == "c"


def test_equal_parallel_calls_stay_two():
    out = written(said("user", "x"), calling("a", "b"), result("a"), result("b"))
    assert len([block for block in contents(out)[1] if block["type"] == "tool_use"]) == 2


def test_lines_of_one_reply_share_its_id_and_are_answered_together():
    one = {"reply_id": "r1"}
    out = written(
        said("user", "x"),
        calling("a", metadata=one),
        calling("b", metadata=one),
        result("a"),
        result("b"),
        calling("c", metadata=one),
        result("c"),
    )
    kinds = [line["type"] for line in lines(out)]
    assert kinds == ["user", "assistant", "assistant", "user", "user", "assistant", "user"]
    ids = [line["message"]["id"] for line in lines(out) if line["type"] == "assistant"]
    assert ids[0] == ids[1] != ids[2]


def test_an_error_is_one_and_rich_results_keep_their_order():
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]
    out = written(said("user", "x"), calling("a", "b"), result("a", parts, metadata={"is_error": True}), result("b", None))
    first, second = (content[0] for content in contents(out)[2:])
    assert first["is_error"] is True
    assert [block["type"] for block in first["content"]] == ["text", "image"]
    assert second["content"] == ""


def test_a_result_has_no_extra_field_that_a_renderer_could_stumble_over():
    """Bug 13: a rewritten toolUseResult crashed the resume."""
    out = written(said("user", "x"), calling("a"), result("a", "<html>"))
    assert all("toolUseResult" not in line for line in lines(out))
    assert lines(out)[2]["sourceToolAssistantUUID"] == lines(out)[1]["uuid"]


# --- arguments (trap 4; bug 39)


@pytest.mark.parametrize(
    "arguments", ['{"big":12345678901234567890123,"f":1.10,"z":1,"a":2}', '{"deep":{"list":[1,{"x":null}]}}', "{}"]
)
def test_arguments_keep_key_order_and_numbers(arguments):
    out = written(said("user", "x"), calling("a", arguments=arguments), result("a"))
    assert dump(contents(out)[1][0]["input"]) == arguments


@pytest.mark.parametrize("arguments", ["{", "null", "[1]", '"text"', '{"a":1,"a":2}', "[" * 200, '{"\\ud800":1}'])
def test_arguments_that_are_no_object_survive_as_text(arguments):
    out = written(said("user", "x"), calling("a", arguments=arguments), result("a"))
    assert contents(out)[1][0]["input"] == {"raw_arguments": arguments}
    assert any("tool_calls[].function.arguments" in reason for reason in reasons(out, "degraded"))


def test_a_tool_name_becomes_one_that_the_api_takes():
    assert tool_name("functions.bash") == "functions_bash"
    assert tool_name("") == "unknown"
    assert len(tool_name("x" * 500)) == 64


# --- thinking (trap 2; bugs 15 to 19, 28, 29, 48)


def test_thinking_of_others_is_never_written_and_never_becomes_text():
    signed = {
        "content": "secret plan",
        "encrypted": False,
        "items": [{"text": "secret plan", "signature": "sig", "provider": "anthropic"}],
    }
    sealed = {"content": None, "encrypted": True, "items": [{"data": "opaque"}]}
    plain = {"content": "hmm", "encrypted": False}
    out = written(said("user", "x"), *(said("assistant", "y", thinking=thinking) for thinking in (signed, sealed, plain)))
    text = b"".join(out.records).decode()
    assert not any(word in text for word in ("secret plan", "sig", "opaque", "hmm", "thinking"))
    assert {item["reason"] for item in out.report["kept_native"] if "thinking" in item["path"]} == {
        "signed or encrypted: it opens only where it came from"
    }
    assert [item["path"] for item in out.report["dropped"]] == [
        "fields/assistant.thinking.content",
        "fields/assistant.thinking.encrypted",
    ]


def test_a_reply_of_thinking_alone_leaves_no_empty_line():
    out = written(
        said("user", "x"), said("assistant", None, thinking={"content": "hmm"}), said("assistant", " \n"), said("user", "")
    )
    assert contents(out) == ["x"]
    assert sum(item["count"] for item in out.report["dropped"] if item["path"].startswith("entries/")) == 3


# --- content that the API refuses (traps 8, 9, 15)


def test_system_prompts_and_text_of_another_harness_are_not_live_here():
    out = written(said("system", "You are other."), said("user", "<context>", metadata={"origin": "harness"}), said("user", "x"))
    assert contents(out) == ["x"]
    assert [reason.split(":")[0] for reason in reasons(out, "dropped") if reason.startswith("entries")] == [
        "entries/system",
        "entries/user",
    ]


def test_half_a_surrogate_pair_is_replaced_and_nul_stays():
    out = written(said("user", "a\ud800b\0c"), calling("a", arguments='{"s":"\\udc00"}'), result("a", "\ud800"))
    assert contents(out)[0] == "a\ufffdb\0c"
    assert contents(out)[1][0]["input"] == {"s": "\ufffd"}
    assert len(reasons(out, "degraded")) == 3


def test_images_and_documents_are_kept_and_other_parts_are_named():
    parts = [
        {"type": "text", "text": " "},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": f"data:image/bmp;base64,{PNG}"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,abc"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PNG}"}},
        {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}},
    ]
    out = written(said("user", parts))
    assert [block.get("text", block["type"]) for block in contents(out)[0]] == [
        "image",
        "[an image that could not be carried over]",
        "[an image that could not be carried over]",
        "[image: https://example.org/a.png]",
        "document",
        "[audio that could not be carried over]",
    ]
    assert contents(out)[0][4]["title"] == "a.pdf"


def test_a_huge_output_is_not_cut():
    """Bugs 36, 46: other converters cut or lose results."""
    huge = "0123456789" * 500_000
    out = written(said("user", "x"), calling("a"), result("a", huge))
    assert contents(out)[2][0]["content"] == huge


def test_a_session_that_begins_with_the_assistant_is_opened_by_a_line_that_says_so():
    out = written(calling("a"), result("a"))
    assert contents(out)[0] == "[The session begins with the assistant.]"
    assert reasons(out, "synthesised")[0].startswith("entries/user: a conversation must begin")


# --- compaction (trap 7; bugs 4, 46)


def test_a_summary_begins_a_new_branch_and_what_it_replaces_is_not_replayed():
    summary = said(
        "user", "Two files were read.", metadata={"origin": "harness", "compaction": {"trigger": "manual", "pre_tokens": 9}}
    )
    out = written(said("user", "old"), calling("a"), summary, said("user", "new"))
    back = read(out.records)
    assert [message.body["content"] for message in back.messages] == ["Two files were read.", "new"]
    assert back.messages[0].body["metadata"]["compaction"]["trigger"] == "manual"
    assert back.messages[0].body["metadata"]["compaction"]["pre_tokens"] == Number("9")
    assert '"old"' in b"".join(out.records).decode()


def test_an_assistants_summary_becomes_the_users():
    out = written(
        said("user", "old"), said("assistant", "All so far.", metadata={"compaction": {}, "model": "gpt-5"}), said("user", "new")
    )
    assert [message.body["role"] for message in read(out.records).messages] == ["user", "user"]
    assert "fields/assistant.metadata.model: no place for this field" in reasons(out, "dropped")


# --- sub-agents


def test_a_summary_belongs_to_no_reply_so_what_was_called_before_it_keeps_its_result():
    summary = said("assistant", "So far …", metadata={"reply_id": "r", "compaction": {}})
    out = written(said("user", "go"), calling("a", metadata={"reply_id": "r"}), summary, result("a", "found"))
    assert contents(out)[2][0]["content"] == "found"
    assert contents(out)[-1] == "So far …"
    assert out.report["counts"]["entries"]["found"] == 4


def test_a_sub_agent_is_a_side_chain_in_a_file_of_its_own_with_the_call_that_started_it():
    main = Session({"agent_source": "opencode", "native_session_id": "ses_1"}, (calling("task 1") | {"append_id": "p"},))
    link = {"agent_id": "ses_2", "tool_use_id": "task 1", "agent_type": "explore"}
    child = Session({"agent_source": "opencode", "subagent": link}, (said("user", "look") | {"append_id": "c"},))
    out = write(main, NOW, [child])
    (agent,) = out.subagents
    (line,) = lines(agent)
    assert agent.path == f"projects/-work/{out.session_id}/subagents/agent-ses_2.jsonl"
    assert (line["isSidechain"], line["agentId"], line["sessionId"]) == (True, "ses_2", out.session_id)
    assert agent.sidecar == {"agentType": "explore", "toolUseId": contents(out)[1][0]["id"]}
    assert problems(agent.records) == []


# --- going on where Claude Code stopped


def began() -> Session:
    """A session that began in Claude Code and stopped in the middle of a call."""
    head = {"isSidechain": False, "userType": "external", "cwd": "/old", "sessionId": session_uuid("s"), "version": "2.1.39"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
    reply: Json = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": None, "stop_sequence": None}
    reply |= {"content": [call], "usage": {"input_tokens": 1, "output_tokens": 1}}
    records = [
        head | {"type": "user", "uuid": uuid_of("1"), "parentUuid": None, "message": {"role": "user", "content": "go"}},
        head | {"type": "assistant", "uuid": uuid_of("2"), "parentUuid": uuid_of("1"), "message": reply},
        head | {"type": "progress", "uuid": uuid_of("3"), "parentUuid": uuid_of("2"), "data": {"type": "bash_progress"}},
    ]
    return session_of(read([dump(record | {"timestamp": "2026-03-01T10:00:00.000Z"}).encode() for record in records]))


def test_a_call_left_open_is_answered_by_the_one_who_goes_on():
    session = began()
    answer = parse(dump(result("toolu_1", "late") | {"append_id": "x"}))
    out = write(Session(session.meta, (*session.entries, answer)), NOW)
    assert problems(out.records) == []
    assert [content[0]["content"] for content in contents(out)[2:]] == ["late"]
    assert lines(out)[-1]["parentUuid"] == uuid_of("2")


def test_a_call_left_open_for_good_is_answered_before_anything_else_is_said():
    session = began()
    out = write(Session(session.meta, (*session.entries, said("user", "never mind"))), NOW)
    assert problems(out.records) == []
    assert contents(out)[2][0]["is_error"] is True
    assert contents(out)[3] == "never mind"


def test_left_alone_an_open_call_stays_as_it_is():
    """Records that came from the agent go back to it without repair."""
    assert len(write(began(), NOW).records) == 3
    assert problems(write(began(), NOW).records) == ["call toolu_1 is not answered"]


def test_what_the_agent_said_after_others_follows_them_in_the_file():
    session = began()
    others = [parse(dump(said("user", text, append_id=text, created_at="2026-03-01T11:00:00Z"))) for text in ("b", "c")]
    there = write(Session(session.meta, (*session.entries, *others)), NOW)
    tail = dump(lines(there)[0] | {"uuid": uuid_of("9"), "parentUuid": uuid_of("c"), "timestamp": "2026-03-01T12:00:00.000Z"})
    grown = [*there.records, tail.encode()]
    new = [message.body for message in read(grown).messages if message.native_id == uuid_of("9")]
    out = write(Session(session.meta, (*session.entries, *others, *parse(dump(new)))), NOW)
    assert list(out.records) == [line.rstrip(b"\n") + b"\n" for line in grown]
