"""What other agents said, as a log that Gemini CLI resumes from."""

import json
from pathlib import Path

import pytest

from adapters.claude_code.reader import read as read_claude_code
from adapters.gemini.reader import read
from adapters.gemini.validator import problems
from adapters.gemini.writer import write
from adapters.session import Session, session_of
from adapters.target import Target, UnknownVersion
from eventstore.wire.codec import dump, parse

SAMPLES = Path(__file__).parent.parent / "samples"
NOW = Target(now_ms=1_800_000_000_000, cwd="/work")
PNG = "data:image/png;base64,iVBORw0KGgo="


def session(*messages: dict, **meta: object) -> Session:
    named = [{"append_id": f"m{at}", **message} for at, message in enumerate(messages)]
    known = {"agent_source": "other", "native_session_id": "s1", **meta}
    return Session(known, tuple(parse(dump(message)) for message in named))


def said(role: str, content: object, **more: object) -> dict:
    return {"role": role, "content": content, "created_at": "2026-11-30T00:00:47.423Z", **more}


def asked(*calls: tuple[str, str, str], content: object = None, **more: object) -> dict:
    made = [{"id": one, "type": "function", "function": {"name": name, "arguments": text}} for one, name, text in calls]
    return said("assistant", content, tool_calls=made, **more)


def answered(call_id: str, content: object, **metadata: object) -> dict:
    return said("tool", content, tool_call_id=call_id, metadata=metadata)


def records(*messages: dict, target: Target = NOW, **meta: object) -> list[dict]:
    """What stands behind the header."""
    written = write(session(*messages, **meta), target)
    assert problems(written.records) == []
    return [json.loads(line) for line in written.records][1:]


def turns(name: str = "turns") -> Session:
    return session_of(read((SAMPLES / "gemini" / f"{name}.jsonl").read_bytes().splitlines(keepends=True)))


def test_a_header_names_the_session_and_its_project():
    written = write(session(said("user", "hello"), title="A relay", cwd="/old"), NOW)
    header = json.loads(written.records[0])
    assert header == {
        "sessionId": written.session_id,
        "projectHash": "0c9a453fad615c83c57d57c2b2be05fa938f0791d7624db43827a033227bf78b",
        "startTime": "2026-11-30T00:00:47.423Z",
        "lastUpdated": "2027-01-15T00:00:00.000Z",
        "kind": "main",
        "summary": "A relay",
    }
    assert written.path == f"tmp/work/chats/session-2026-11-30T00-00-{written.session_id[:8]}.jsonl"


def test_a_session_that_is_long_ago_was_written_to_now():
    """What was not for 30 days, the agent deletes when it starts."""
    old = said("user", "hello") | {"created_at": "2020-01-01T00:00:00Z"}
    header = json.loads(write(session(old), NOW).records[0])
    assert (header["startTime"], header["lastUpdated"]) == ("2020-01-01T00:00:00.000Z", "2027-01-15T00:00:00.000Z")
    recent = said("user", "hello") | {"created_at": "2027-01-10T00:00:00Z"}
    assert json.loads(write(session(recent), NOW).records[0])["lastUpdated"] == "2027-01-10T00:00:00.000Z"
    began = turns()
    behind = write(Session(began.meta, (*began.entries, *session(old).entries)), NOW)
    assert json.loads(behind.records[-1]) == {"$set": {"lastUpdated": "2027-01-15T00:00:00.000Z"}}


def test_the_ids_are_the_same_on_every_run_and_of_their_own_kind():
    one, other = write(session(said("user", "hello")), NOW), write(session(said("user", "hello")), NOW)
    assert one == other
    assert json.loads(one.records[1])["id"] != "m0"
    wanted = write(session(said("user", "hello")), Target(session_id="258c7280-ae70-4798-800f-63464d01a85d"))
    assert wanted.session_id == "258c7280-ae70-4798-800f-63464d01a85d"


def test_a_reply_holds_its_calls_and_their_results():
    _, reply = records(
        said("user", "go"),
        asked(("c1", "Bash", '{"z":1,"a":2}'), ("c2", "Read", "{}"), content="I go."),
        answered("c2", "two", is_error=True, status="error"),
        answered("c1", "one"),
    )
    assert reply["content"] == "I go."
    first, second = reply["toolCalls"]
    assert (first["id"], first["name"], list(first["args"]), first["status"]) == ("c1", "Bash", ["z", "a"], "success")
    assert first["result"] == [{"functionResponse": {"id": "c1", "name": "Bash", "response": {"output": "one"}}}]
    assert second["status"] == "error"
    assert second["result"] == [{"functionResponse": {"id": "c2", "name": "Read", "response": {"error": "two"}}}]


def test_a_call_without_a_result_gets_one_that_says_so():
    written = write(session(said("user", "go"), asked(("c1", "Bash", "{}"))), NOW)
    call = json.loads(written.records[2])["toolCalls"][0]
    assert call["status"] == "error"
    assert call["result"][0]["functionResponse"]["response"]["error"].startswith("[No result")
    assert [item["path"] for item in written.report["synthesised"]] == ["entries/tool"]


def test_of_two_results_the_first_counts_and_one_without_a_call_is_told_as_text():
    messages = [
        said("user", "go"),
        asked(("c1", "Bash", "{}")),
        answered("c1", "one"),
        answered("c1", "again"),
        answered("x", "lost"),
    ]
    _, reply, orphan = records(*messages)
    assert reply["toolCalls"][0]["result"][0]["functionResponse"]["response"] == {"output": "one"}
    assert [part["text"] for part in orphan["content"]] == ["[A tool's result whose call is not in this session]", "lost"]
    report = write(session(*messages), NOW).report
    assert report["counts"]["entries"] == {"found": 5, "converted": 3, "degraded": 1, "kept_native": 0, "dropped": 1}


def test_an_id_that_is_used_again_or_empty_gets_another():
    _, first, second = records(
        said("user", "go"),
        asked(("c1", "Bash", "{}"), ("", "Bash", "{}")),
        answered("c1", "one"),
        asked(("c1", "Bash", "{}")),
        answered("c1", "two"),
    )
    ids = [call["id"] for record in (first, second) for call in record["toolCalls"]]
    assert len(set(ids)) == 3
    assert second["toolCalls"][0]["result"][0]["functionResponse"]["response"] == {"output": "two"}


@pytest.mark.parametrize("arguments", ["{", "[1]", "null", '{"a":1,"a":2}'])
def test_arguments_that_are_no_object_stand_as_text(arguments):
    assert records(said("user", "go"), asked(("c1", "Bash", arguments)))[1]["toolCalls"][0]["args"] == {"raw_arguments": arguments}


def test_a_number_that_javascript_rounds_is_told():
    written = write(session(said("user", "go"), asked(("c1", "Bash", '{"n":12345678901234567890123}'))), NOW)
    assert b"12345678901234567890123" in written.records[2]
    assert [item["path"] for item in written.report["degraded"]] == ["fields/assistant.tool_calls[].function.arguments"]


@pytest.mark.parametrize("text", ["/tmp is full", "?", " \ufeff/help", "<session_context>mine", "\n<hook_context>"])
def test_what_begins_as_a_command_is_not_passed_over(text):
    written = write(session(said("user", text)), NOW)
    content = json.loads(written.records[1])["content"]
    assert content == [{"text": "\u200b" + text}]
    assert [item["path"] for item in written.report["degraded"]] == ["fields/user.content"]


def test_a_picture_needs_no_words():
    (record,) = records(said("user", [{"type": "image_url", "image_url": {"url": PNG}}, {"type": "text", "text": "/tmp"}]))
    assert record["content"] == [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}, {"text": "/tmp"}]


def test_a_line_separator_does_not_cut_a_line():
    """Some readers of lines take it for the end of one."""
    written = write(session(said("user", "one\u2028two\u2029three")), NOW)
    assert json.loads(written.records[1])["content"] == [{"text": "one\u2028two\u2029three"}]
    assert all(len(line.decode().splitlines()) == 1 for line in written.records)


def test_half_a_surrogate_pair_is_replaced_and_a_nul_is_kept():
    assert records(said("user", "a \ud800 b \0"))[0]["content"] == [{"text": "a \ufffd b \0"}]


def test_files_and_sounds_are_carried_and_what_has_no_part_is_told():
    parts = [
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "hologram"},
    ]
    assert records(said("user", parts))[0]["content"] == [
        {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
        {"text": "[image: https://example.org/a.png]"},
        {"text": "[content that could not be carried over]"},
    ]


def test_thinking_goes_over_where_nobody_signed_it():
    items = [{"text": "open"}, {"text": "closed", "signature": "s"}]
    _, record = records(said("user", "go"), said("assistant", "ok", thinking={"content": "open\n\nclosed", "items": items}))
    assert [thought["description"] for thought in record["thoughts"]] == ["open"]


def test_costs_are_counted_with_their_cache():
    usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 3, "reasoning_tokens": 2}
    _, record = records(said("user", "go"), said("assistant", "ok", metadata={"usage": usage, "model": "gpt-5"}))
    assert record["tokens"] == {"input": 12, "output": 3, "cached": 7, "thoughts": 2, "tool": 0, "total": 17}
    assert record["model"] == "gpt-5"


def test_no_time_is_later_than_now():
    (record,) = records(said("user", "go") | {"created_at": "2999-01-01T00:00:00Z"})
    assert record["timestamp"] == "2027-01-15T08:00:00.000Z"


def test_text_of_another_harness_and_a_system_prompt_are_not_live_here():
    messages = [said("system", "be kind"), said("user", "<reminder>", metadata={"origin": "harness"}), said("user", "go")]
    assert [record["content"] for record in records(*messages)] == [[{"text": "go"}]]


def test_a_summary_begins_the_list_anew_and_what_it_stands_for_stays_in_the_file():
    first, *rest = records(said("user", "old"), said("user", "so it was", metadata={"compaction": {}}), said("user", "and now?"))
    assert first["content"] == [{"text": "old"}]
    assert [message["content"] for message in rest[0]["$set"]["messages"]] == [[{"text": "so it was"}]]
    back = read(write(session(said("user", "old"), said("user", "so it was", metadata={"compaction": {}})), NOW).records)
    assert [message.body["metadata"].get("compaction") for message in back.messages] == [{}]


def test_a_conversation_begins_with_the_user():
    assert [record["type"] for record in records(said("assistant", "hello"))] == ["user", "gemini"]


def test_a_home_session_moves_to_another_project_and_id():
    written = write(turns("resumed"), Target(session_id="258c7280-ae70-4798-800f-63464d01a85d", cwd="/work"))
    headers = [record for line in written.records if "projectHash" in (record := json.loads(line))]
    assert {header["sessionId"] for header in headers} == {"258c7280-ae70-4798-800f-63464d01a85d"}
    assert {header["projectHash"] for header in headers} == {"0c9a453fad615c83c57d57c2b2be05fa938f0791d7624db43827a033227bf78b"}
    assert {item["path"] for item in written.report["warnings"]} == {"lines/projectHash", "lines/sessionId"}
    assert written.path.startswith("tmp/work/chats/session-")


def test_others_go_on_behind_what_was_said_at_home():
    began = turns()
    more = session(said("user", "and then?"), said("assistant", "on"))
    written = write(Session(began.meta, (*began.entries, *more.entries)), Target())
    assert written.session_id == began.meta["native_session_id"]
    lines = (SAMPLES / "gemini" / "turns.jsonl").read_bytes().splitlines(keepends=True)
    assert [json.loads(line) for line in written.records[: len(lines)]] == [json.loads(line) for line in lines]
    back = read(written.records).messages
    assert [message.body["content"] for message in back][-2:] == ["and then?", "on"]


def test_what_others_said_between_is_live_between():
    began = turns()
    messages = began.messages
    more = session(said("user", "and then?")).entries
    written = write(Session(began.meta, (*messages[:2], *more, *messages[2:], *began.natives)), Target())
    there = [message.body["content"] for message in read(written.records).messages]
    assert there[1:4] == ["What colour is the sash?", "and then?", None]
    assert len(there) == len(messages) + 1
    assert problems(written.records) == []


def test_a_call_at_home_that_others_answered_has_its_answer():
    call = {"id": "c1", "name": "run_shell_command", "args": {}, "status": "executing"}
    reply = {"id": "b", "timestamp": "2026-11-30T00:00:49.000Z", "type": "gemini", "content": "", "toolCalls": [call]}
    header = {"sessionId": "dde903a7-0f36-4107-ac37-842e268b9211", "projectHash": "f0"}
    began = session_of(read([json.dumps(record).encode() + b"\n" for record in (header, reply)]))
    written = write(
        Session(began.meta, (*began.entries, *session(answered("c1", "done"), said("user", "go on")).entries)), Target()
    )
    answer = json.loads(written.records[2])
    assert answer["content"] == [{"functionResponse": {"id": "c1", "name": "run_shell_command", "response": {"output": "done"}}}]
    assert [message.body["role"] for message in read(written.records).messages] == ["assistant", "tool", "user"]


def test_a_fork_within_a_reply_has_what_was_said_before_it():
    """The messages of one record go home only together: a result that came later is not in the fork."""
    began = turns()
    at = next(index for index, message in enumerate(began.messages) if message["role"] == "tool")
    written = write(Session(began.meta | {"native_session_id": "f"}, tuple(began.messages[:at])), NOW)
    assert problems(written.records) == []
    calls = [call for line in written.records for call in json.loads(line).get("toolCalls", ())]
    assert [call["result"][0]["functionResponse"]["response"]["error"][:10] for call in calls] == ["[No result"] * 2
    assert "ZEBRA-42" not in b"".join(written.records).decode()


def test_a_subagent_is_a_file_in_its_parents_folder():
    child = session(said("user", "look"), subagent={"agent_id": "a1"})
    written = write(session(said("user", "go")), NOW, [child])
    (one,) = written.subagents
    assert one.path == f"tmp/work/chats/{written.session_id}/{one.session_id}.jsonl"
    assert json.loads(one.records[0])["kind"] == "subagent"


def test_a_summary_with_nothing_before_it_is_told_to_be_none_here():
    lines = (SAMPLES / "claude_code" / "compaction.jsonl").read_bytes().splitlines(keepends=True)
    written = write(session_of(read_claude_code(lines)), NOW)
    assert problems(written.records) == []
    reasons = {
        item["reason"] for item in written.report["kept_native"] if item["path"].startswith("fields/user.metadata.compaction")
    }
    assert any(reason.startswith("nothing stands before it") for reason in reasons)


def test_a_version_that_nobody_knows_is_refused():
    with pytest.raises(UnknownVersion):
        write(session(said("user", "go")), Target(version="1.0.0"))
    assert write(session(said("user", "go")), Target(version="0.61.0")).version == "jsonl"


HEADER = b'{"sessionId":"s","projectHash":"h","startTime":"2026-11-30T00:00:47Z","lastUpdated":"2026-11-30T00:00:47Z"}\n'


def message(**fields: object) -> bytes:
    whole = {"id": "a", "timestamp": "2026-11-30T00:00:47Z", "type": "user", "content": "hello", **fields}
    return json.dumps(whole).encode() + b"\n"


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([message()], "line 1: no header with sessionId and projectHash: the session is not found"),
        ([HEADER], "nothing that was said: the session is not listed"),
        ([HEADER, message(content="/help")], "nothing that was said: the session is not listed"),
        ([HEADER, message(), b"{"], "line 3: not JSON: passed over"),
        ([HEADER, message(), b'{"x":1}'], "line 3: no record that is known: passed over"),
        ([HEADER, message(), b'{"$rewindTo":"b"}', message()], "line 3: a rewind to an unknown message: everything is gone"),
        (
            [HEADER, b'{"id":\r"a","content":""}', message()],
            "line 2: a line end inside it: both halves are passed over",
        ),
        ([HEADER, message(type="robot"), message(id="b")], "line 2: a message of an unknown type"),
        ([HEADER, message(timestamp="soon")], "line 2: a message without a time"),
        ([HEADER, message(content="\ud800 x")], "line 2: half a surrogate pair, which the model's API refuses"),
        (
            [HEADER, message(content=["x", {"inlineData": {"mimeType": "a/b", "data": "", "displayName": "c"}}])],
            "line 2: a name beside a file's data, which ends every later request",
        ),
        ([HEADER, message(content=["x", {"image": 1}])], "line 2: a part that the model's API does not know"),
        (
            [HEADER, message(type="gemini", toolCalls=[{"id": "c", "name": "n"}])],
            "line 2: a call without an id, a name, arguments or a status",
        ),
        (
            [HEADER, message(), message(id="b", content=[{"functionResponse": {"id": "c", "name": "n", "response": {}}}])],
            "line 3: a response to a call that nobody made",
        ),
    ],
)
def test_the_validator_knows_what_the_agent_passes_over(lines, problem):
    assert problem in problems(lines)
