"""A session of another agent as an OpenCode export: each demand of an import, and each trap that a resume falls into."""

import base64
from pathlib import Path
from typing import Any

import pytest

from adapters.claude_code.reader import read as read_claude_code
from adapters.conversion import Json
from adapters.leaves import leaves
from adapters.opencode.reader import read, read_document
from adapters.opencode.validator import problems
from adapters.opencode.writer import write
from adapters.session import Session, session_of
from adapters.target import Target, UnknownVersion
from adapters.written import Written
from eventstore.wire.codec import dump, parse

SAMPLES = Path(__file__).parent.parent / "samples"
NOW = Target(now_ms=1_800_000_000_000, cwd="/home/bob/relay", provider="fake", model="fake-model")
PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()


def said(role: str, content: Any = None, **more: Any) -> Json:
    return {"role": role, "content": content, **more}


def call(name: str, arguments: str = "{}", tool: str = "bash") -> Json:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}


def written(*messages: Json, target: Target = NOW, meta: Json | None = None) -> Written:
    numbered = tuple({"append_id": f"m{index}", **parse(dump(message))} for index, message in enumerate(messages))
    done = write(Session(meta or {}, numbered), target)
    assert problems(done.records, target.now_ms) == []
    return done


def messages_of(done: Written) -> list[Json]:
    return done.records[0]["messages"]


def parts_of(done: Written, kind: str) -> list[Json]:
    return [part for message in messages_of(done) for part in message["parts"] if part["type"] == kind]


def reasons(done: Written, kind: str) -> set[str]:
    return {item["path"] for item in done.report[kind]}


def test_a_call_and_its_result_are_one_part():
    done = written(
        said("user", "Run."),
        said("assistant", "Twice.", tool_calls=[call("a", '{"n":1}'), call("b")]),
        said("tool", "second", tool_call_id="b", metadata={"is_error": True}),
        said("tool", "first", tool_call_id="a"),
    )
    first, second = parts_of(done, "tool")
    assert (first["callID"], first["state"]["status"], first["state"]["output"]) == ("a", "completed", "first")
    assert (second["callID"], second["state"]["status"], second["state"]["error"]) == ("b", "error", "second")
    assert first["state"]["input"] == parse('{"n":1}')
    assert messages_of(done)[1]["info"]["finish"] == "tool-calls"


def test_a_call_that_was_interrupted_gets_an_error_and_the_report_says_so():
    done = written(said("user", "Run."), said("assistant", None, tool_calls=[call("a")]))
    assert parts_of(done, "tool")[0]["state"]["error"] == "[Tool execution was interrupted]"
    assert reasons(done, "synthesised") == {"fields/tool.content"}


def test_a_result_without_a_call_is_a_text_that_is_marked_as_put_in():
    done = written(said("user", "Go on."), said("tool", "42", tool_call_id="gone"))
    text = parts_of(done, "text")[1]
    assert text["synthetic"] is True
    assert text["text"].endswith("\n42")
    assert "fields/tool.content" in reasons(done, "degraded")


def test_of_two_results_the_first_counts():
    done = written(
        said("user", "x"),
        said("assistant", None, tool_calls=[call("a")]),
        said("tool", "one", tool_call_id="a"),
        said("tool", "two", tool_call_id="a"),
    )
    assert [part["state"]["output"] for part in parts_of(done, "tool")] == ["one"]
    assert "fields/tool" in reasons(done, "dropped")


@pytest.mark.parametrize("arguments", ['{"a":', "[1]", "null", '{"a":1,"a":2}', "\0"])
def test_arguments_that_are_no_object_are_kept_as_text_and_reported(arguments):
    done = written(said("user", "x"), said("assistant", None, tool_calls=[call("a", arguments)]))
    assert parts_of(done, "tool")[0]["state"]["input"] == {"arguments": arguments}
    assert reasons(done, "degraded") == {"fields/assistant.tool_calls[].function.arguments"}


def test_numbers_in_arguments_keep_their_spelling():
    arguments = '{"n":12345678901234567890123,"pi":1.10}'
    done = written(said("user", "x"), said("assistant", None, tool_calls=[call("a", arguments)]))
    assert dump(parts_of(done, "tool")[0]["state"]["input"]) == arguments


def test_ids_that_a_provider_refuses_or_that_were_used_before_are_made_anew():
    done = written(
        said("user", "x"),
        said("assistant", None, tool_calls=[call("a"), call("a"), call("ä b"), call("")]),
        said("tool", "1", tool_call_id="a"),
        said("tool", "2", tool_call_id="a"),
    )
    ids = [part["callID"] for part in parts_of(done, "tool")]
    assert ids[0] == "a"
    assert len(set(ids)) == 4
    assert all(name.replace("_", "").isalnum() and name.isascii() for name in ids)
    assert "fields/assistant.tool_calls[].id" in reasons(done, "degraded")


def test_signed_and_encrypted_thinking_is_never_text_for_another():
    signed = {"content": "secret plan", "items": [{"text": "secret plan", "signature": "c2ln", "provider": "anthropic"}]}
    hidden = {"content": None, "encrypted": True, "items": [{"data": "ZW5j"}]}
    done = written(said("user", "x"), said("assistant", "a", thinking=signed), said("assistant", "b", thinking=hidden))
    assert parts_of(done, "reasoning") == []
    assert "secret plan" not in dump(done.records[0])
    assert "fields/assistant.thinking.items[].text" in reasons(done, "dropped")


def test_readable_thinking_is_reasoning_and_the_report_says_who_will_see_it():
    thinking = {"content": "Measure first.", "items": [{"text": "Measure first.", "provider": "fake", "model": "other"}]}
    metadata = {"provider": "fake", "model": "other"}
    done = written(said("user", "x"), said("assistant", "a", thinking=thinking, metadata=metadata))
    assert [part["text"] for part in parts_of(done, "reasoning")] == ["Measure first."]
    assert {item["reason"] for item in done.report["degraded"]} == {
        "readable thinking: OpenCode sends it as plain text to another model than the one that thought it"
    }
    same = {"content": "Measure first."}
    local = {"provider": "fake", "model": "fake-model"}
    assert written(said("user", "x"), said("assistant", "a", thinking=same, metadata=local)).report["degraded"] == []


def test_system_prompts_and_what_another_harness_put_in_stay_behind():
    done = written(
        said("system", "You are another agent."),
        said("user", "<system-reminder>be kind</system-reminder>", metadata={"origin": "harness"}),
        said("user", "Hello."),
    )
    assert [part["text"] for part in parts_of(done, "text")] == ["Hello."]
    assert reasons(done, "dropped") == {"fields/system", "fields/user"}


def test_images_are_data_urls_in_prompts_and_attachments_of_results():
    image = {"type": "image_url", "image_url": {"url": PNG}}
    done = written(
        said("user", [{"type": "text", "text": "look"}, image]),
        said("assistant", None, tool_calls=[call("a")]),
        said("tool", [{"type": "text", "text": "seen"}, image], tool_call_id="a"),
    )
    assert [(part["mime"], part["url"]) for part in parts_of(done, "file")] == [("image/png", PNG)]
    state = parts_of(done, "tool")[0]["state"]
    assert state["output"] == "seen"
    assert [(file["mime"], file["url"]) for file in state["attachments"]] == [("image/png", PNG)]


def test_a_model_is_the_local_one_in_prompts_and_the_original_in_answers():
    done = written(said("user", "x"), said("assistant", "a", metadata={"model": "claude-opus-4-6", "provider": "anthropic"}))
    user, assistant = (message["info"] for message in messages_of(done))
    assert user["model"] == {"providerID": "fake", "modelID": "fake-model"}
    assert (assistant["providerID"], assistant["modelID"]) == ("anthropic", "claude-opus-4-6")


def test_a_session_that_begins_with_an_answer_gets_a_prompt_to_answer():
    done = written(said("assistant", "Hello."))
    user, assistant = messages_of(done)
    assert assistant["info"]["parentID"] == user["info"]["id"]
    assert user["parts"][0]["synthetic"] is True
    assert reasons(done, "synthesised") == {"fields/user.content"}


def test_times_of_the_future_and_clocks_that_disagree_rise_and_end_now():
    stamps = ["2999-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "no time", None]
    done = written(*(said("user", "x") | ({"created_at": stamp} if stamp else {}) for stamp in stamps))
    times = [message["info"]["time"]["created"] for message in messages_of(done)]
    assert times == sorted(set(times))
    assert times[-1] <= NOW.now_ms


def test_a_summary_becomes_a_compaction_and_what_it_stands_for_stays_before_it():
    summary = said("user", "So far: nothing.", metadata={"origin": "harness", "compaction": {"trigger": "auto"}})
    done = written(said("user", "Old."), summary, said("user", "New."))
    old, asked, answer, new = messages_of(done)
    assert asked["parts"][0]["type"] == "compaction"
    assert (answer["info"]["summary"], answer["info"]["parentID"]) == (True, asked["info"]["id"])
    live = [message.body["content"] for message in read_document(parse(dump(done.records[0]))).messages]
    assert live == [None, "So far: nothing.", "New."]
    assert (old["parts"][0]["text"], new["parts"][0]["text"]) == ("Old.", "New.")


def test_lines_of_one_reply_are_one_step():
    more = {"reply_id": "msg_1", "model": "m"}
    done = written(
        said("user", "x"),
        said("assistant", "I look.", metadata=more),
        said("assistant", None, metadata=more, tool_calls=[call("a")]),
        said("tool", "1", tool_call_id="a"),
        said("assistant", None, metadata=more, tool_calls=[call("b")]),
        said("tool", "2", tool_call_id="b"),
        said("assistant", "Done.", metadata={"reply_id": "msg_2", "model": "m"}),
    )
    assert [[part["type"] for part in message["parts"]] for message in messages_of(done)] == [
        ["text"],
        ["text", "tool", "tool"],
        ["text"],
    ]


def test_a_reply_in_several_lines_is_counted_once_as_its_last_line_says():
    def line(tokens: int) -> Json:
        return {"reply_id": "msg_1", "model": "m", "usage": {"input_tokens": 7, "output_tokens": tokens}}

    done = written(said("user", "x"), said("assistant", "a", metadata=line(1)), said("assistant", "b", metadata=line(9)))
    tokens = messages_of(done)[1]["info"]["tokens"]
    assert (dump(tokens["input"]), dump(tokens["output"])) == ("7", "9")
    assert "fields/assistant.metadata.usage.output_tokens" in reasons(done, "degraded")


def test_what_is_said_between_a_call_and_its_result_parts_them_not():
    done = written(
        said("user", "x"),
        said("assistant", None, tool_calls=[call("a", tool="Task")]),
        said("user", "Hurry."),
        said("assistant", "I wait."),
        said("tool", "done", tool_call_id="a"),
    )
    assert parts_of(done, "tool")[0]["state"]["output"] == "done"
    assert [part["text"] for part in parts_of(done, "text")] == ["x", "Hurry.", "I wait."]


@pytest.mark.parametrize("output", ["", "\0", "\ud800 half", "x" * 3_000_000])
def test_an_output_arrives_as_it_is_however_odd_or_large(output):
    done = written(said("user", "x"), said("assistant", None, tool_calls=[call("a")]), said("tool", output, tool_call_id="a"))
    back = read([dump(done.records[0]).encode()])
    assert [message.body["content"] for message in back.messages if message.body["role"] == "tool"] == [output]


@pytest.mark.parametrize("version", ["2.0.0", "0.9.1", "opencode2", "1.18"])
def test_a_version_that_nobody_knows_is_refused(version):
    with pytest.raises(UnknownVersion):
        write(Session({}, ()), Target(version=version))


def test_a_session_without_a_word_is_written_with_what_an_import_wants():
    assert messages_of(written()) == []


def test_what_others_said_follows_and_a_pending_revert_is_carried_out():
    own = parse((SAMPLES / "opencode" / "revert.json").read_text("utf-8"))
    began = session_of(read_document(own))
    done = write(Session(began.meta, (*began.entries, said("user", "Go on.", append_id="x1"))), NOW)
    assert "revert" not in done.records[0]["info"]
    assert messages_of(done)[0] == own["messages"][0]
    assert messages_of(done)[1]["parts"] == own["messages"][1]["parts"][:2]
    assert messages_of(done)[-1]["parts"][0]["text"] == "Go on."
    assert len(messages_of(done)) == 3
    assert reasons(done, "dropped") == {"reverted/messages"}


def test_a_session_under_another_id_has_no_id_of_the_first():
    own = parse((SAMPLES / "opencode" / "compaction.json").read_text("utf-8"))
    done = write(session_of(read_document(own)), Target(session_id="ses_another"))
    assert problems(done.records) == []
    ids = {leaf for _, leaf in leaves(done.records[0]) if isinstance(leaf, str) and leaf[:4] in ("ses_", "msg_", "prt_")}
    assert not ids & {leaf for _, leaf in leaves(own) if isinstance(leaf, str)}
    live = [message.body["content"] for message in read_document(done.records[0]).messages]
    assert live == [message.body["content"] for message in read_document(own).messages]


def test_sub_agents_are_sessions_of_their_own_and_linked():
    parent = Session({"title": "P"}, (said("user", "x"), said("assistant", None, tool_calls=[call("t1", tool="Task")])))
    child = Session({"title": "C", "subagent": {"tool_use_id": "t1"}}, (said("user", "look", append_id="c1"),))
    done = write(parent, NOW, [child])
    info = done.subagents[0].records[0]["info"]
    assert info["parentID"] == done.session_id
    assert parts_of(done, "tool")[0]["state"]["metadata"]["sessionId"] == info["id"]


def test_native_records_that_were_broken_on_the_way_lose_no_word():
    conversion = read_document(parse((SAMPLES / "opencode" / "turns.json").read_text("utf-8")))
    entries = [parse(dump(entry.body)) for entry in conversion.entries]
    entries[2]["native"]["said"] = [[["parts", 99], ["content"]]]
    done = write(Session(conversion.meta, tuple(entries)), NOW)
    assert problems(done.records) == []
    texts = {part["text"] for part in parts_of(done, "text")}
    assert "I measure it twice, at the same time." in texts


@pytest.fixture(scope="module")
def transcripts(corpus: Path) -> dict[str, Session]:
    found = sorted((corpus / "claude-code").rglob("*.jsonl"))
    if not found:
        pytest.skip(f"no Claude Code transcripts in {corpus}")
    return {path.name: session_of(read_claude_code(path.read_bytes().splitlines(keepends=True))) for path in found}


def test_every_claude_code_session_of_the_corpus_can_be_imported_with_every_call_answered(transcripts):
    for name, session in transcripts.items():
        done = write(session, NOW)
        assert problems(done.records, NOW.now_ms) == [], name
        calls = [call["id"] for message in session.messages for call in message.get("tool_calls", ())]
        assert [part["callID"] for part in parts_of(done, "tool")] == calls, name
        for message in read([dump(done.records[0]).encode()]).messages:
            assert message.body["role"] != "assistant" or "tool_calls" not in message.body or message.body["tool_calls"]


def test_what_was_said_in_claude_code_stands_in_the_same_order_in_opencode(transcripts):
    for name, session in transcripts.items():
        back = read([dump(write(session, NOW).records[0]).encode()])
        assert in_order(message.body for message in back.messages) == in_order(session.messages), name
        results = {
            message.body["tool_call_id"]: message.body["content"] for message in back.messages if message.body["role"] == "tool"
        }
        for message in session.messages:
            if message["role"] == "tool":
                assert texts_of(results[message["tool_call_id"]]) == texts_of(message["content"]), name


def in_order(messages: Any) -> str:
    """The texts of humans and agents, in order; how they are cut into messages, and spaces, aside."""
    spoken = (message for message in messages if message["role"] != "tool")
    kept = (m for m in spoken if m["metadata"]["origin"] != "harness" or "compaction" in m["metadata"])
    return "".join("".join(texts_of(message["content"]) for message in kept).split())


def texts_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part["type"] == "text")
    return content or ""


def test_every_leaf_of_a_claude_code_session_is_converted_or_reported(transcripts):
    for session in transcripts.values():
        counts = write(session, NOW).report["counts"]
        assert counts["fields"]["found"] == sum(1 for message in session.messages for _ in leaves(message))


def test_what_was_said_before_opencode_was_there_stands_before_its_own():
    pulled = written(said("user", "First."), said("assistant", "Second."), target=NOW)
    document = pulled.records[0]
    own = parse(dump(document["messages"][0]))
    own["info"] |= {"id": "msg_ffff00000000abcdefghijklmn", "time": {"created": NOW.now_ms - 5}}
    own["parts"][0] |= {"id": "prt_ffff00000000abcdefghijklmn", "messageID": own["info"]["id"], "text": "Third."}
    came = read_document({**document, "messages": [*document["messages"], own]}).messages[-1].body
    before = [{"append_id": "m0", **said("user", "First.")}, {"append_id": "m1", **said("assistant", "Second.")}]
    after = {"append_id": "m9", **said("assistant", "Fourth.")}
    again = write(Session({}, tuple(parse(dump(one)) for one in (*before, came, after))), NOW)
    assert problems(again.records, NOW.now_ms) == []
    texts = [part["text"] for part in parts_of(again, "text")]
    assert texts == ["First.", "Second.", "Third.", "Fourth."]
    assert [one.body["content"] for one in read_document(again.records[0]).messages] == texts
    assert [one["info"]["id"] for one in messages_of(again)][:2] == [one["info"]["id"] for one in document["messages"]]
