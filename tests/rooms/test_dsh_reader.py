"""Logs of DeepSeek Harness as standard messages: what is live, who said it, and what older formats spell otherwise."""

from adapters.dsh.detect import detect
from adapters.dsh.paths import encode_segment, path_of, project_key
from adapters.dsh.reader import read
from adapters.dsh.writer import write
from adapters.session import session_of
from adapters.target import Target
from eventstore.wire.codec import dump, parse

HEADER = {"type": "session", "version": 4, "id": "s", "createdAt": 1, "cwd": "/w", "isSeeded": False, "delegationDepth": 0}
SEEN = {"text": "x" * 99}


def log(*events: dict, **header) -> list[bytes]:
    numbered = [{"seq": seq, "time": 1_795_990_000_000 + seq, **event} for seq, event in enumerate(events)]
    return [dump(line).encode() + b"\n" for line in [HEADER | header, *numbered]]


def user(text: str, kind: str = "user", op="append", **more) -> dict:
    data = {"role": "user", "id": f"u-{text}", "source": {"kind": kind}, "content": [{"type": "text", "text": text}]}
    return {"type": "user/message", "data": data, "surfaceOp": op, **more}


def reply(*blocks: dict, signatures=(), provider="deepseek-official", **more) -> dict:
    source = {"kind": "model", "provider": provider, "model": "m"}
    if signatures:
        source["replayState"] = {"blocks": [{"type": "reasoning", "signature": name} if name else {} for name in signatures]}
    message = {"role": "assistant", "id": f"a{len(blocks)}", "content": list(blocks), "source": source}
    data = {"turn": 1, "step": 1, "message": message, "stream": [], **more}
    return {"type": "assistant/message", "data": data, "surfaceOp": "append"}


def result(call_id: str, text: str, message=None, **more) -> dict:
    shown = {"role": "tool", "id": f"r-{call_id}", "toolCallId": call_id, "source": {"kind": "tool", "callId": call_id}}
    data = {"message": message or shown | {"content": [{"type": "text", "text": text}]}}
    return {"type": "tool/result", "data": data, "surfaceOp": "append", **more}


def call(name: str = "c", arguments: str = "{}") -> dict:
    return {"type": "tool-call", "id": name, "name": "bash", "arguments": arguments}


def replace(start: int, end: int) -> dict:
    return {"op": "replace", "startSeq": start, "endSeq": end}


def bodies(lines: list[bytes]) -> list[dict]:
    return [message.body for message in read(lines).messages]


def test_what_a_checkpoint_stands_for_is_no_message_but_comes_home():
    summary = user("all so far", "compact-checkpoint", replace(0, 1), sourceEventSeqs=[0, 1])
    lines = log(user("a"), user("b"), user("tail"), summary, user("on"))
    conversion = read(lines)
    assert [message.body["content"] for message in conversion.messages] == ["all so far", "tail", "on"]
    assert conversion.messages[0].body["metadata"]["compaction"] == {}
    assert conversion.off_branch == {"u-a": "compacted", "u-b": "compacted"}
    assert [parse(line.decode()) for line in write(session_of(conversion), Target()).records] == [
        parse(line.decode()) for line in lines
    ]


def test_a_result_that_was_cut_stands_in_the_place_of_the_whole_one():
    cut = result("c", "cut") | {"surfaceOp": replace(2, 2), "sourceEventSeqs": [2]}
    said = read(log(user("a"), reply(call()), result("c", "all of it"), user("b"), cut)).messages
    assert [message.body["content"] for message in said] == ["a", None, "cut", "b"]
    assert [message.native_id for message in said] == ["u-a", "a1", "r-c.2", "u-b"]


def test_older_formats_spell_a_replacement_and_a_result_otherwise():
    old = {"op": "replace", "start": 0, "end": 0}
    block = {"type": "tool-result", "toolCallId": "c", "content": [{"type": "text", "text": "out"}], "isError": True}
    wrapped = {"role": "user", "id": "r", "source": {"kind": "tool", "callId": "c"}, "content": [block]}
    said = bodies(log(user("a"), user("b", op=old), reply(call()), result("c", "", wrapped), version=0))
    assert [body["content"] for body in said] == ["b", None, "out"]
    assert (said[2]["tool_call_id"], said[2]["metadata"]["is_error"]) == ("c", True)


def test_who_said_it_is_told_by_the_source():
    kinds = ("user", "agent-message", "subagent-settled", "runtime-context", "hooks-stop", "plugin:x", "user-question-reply")
    said = bodies(log(*(user(kind, kind) for kind in kinds)))
    origins = ["human", "agent", "agent", "harness", "harness", "harness", "human"]
    assert [body["metadata"]["origin"] for body in said] == origins
    (inside,) = bodies(log(user("go"), origin="subagent", parentSession="p"))
    assert inside["metadata"]["origin"] == "agent"


def test_a_thought_keeps_whose_it_is_and_its_signature():
    thought = {"type": "reasoning", "text": "hm"}
    (body,) = bodies(log(reply(thought, {"type": "text", "text": "so"}, signatures=("sig", ""))))
    assert body["thinking"]["items"] == [{"text": "hm", "provider": "deepseek-official", "model": "m", "signature": "sig"}]
    (without,) = bodies(log(reply(thought, signatures=("sig", "one too many"))))
    assert "signature" not in without["thinking"]["items"][0]


def test_the_system_prompt_is_a_message_of_the_harness():
    message = {"role": "system", "id": "p", "source": {"kind": "system-prompt"}, "content": [{"type": "text", "text": "You are"}]}
    (body,) = bodies(log({"type": "system/message", "data": {"turn": 1, "step": 1, "message": message}, "surfaceOp": "append"}))
    assert (body["role"], body["content"], body["metadata"]["origin"]) == ("system", "You are", "harness")


def test_a_call_without_a_result_is_warned_of_and_one_of_unknown_outcome_was_interrupted():
    conversion = read(log(reply(call("c1"), call("c2")), result("c1", "?") | {"data": lost("c1")}))
    assert [item["path"] for item in conversion.report["warnings"]] == ["lines/assistant/message"]
    assert conversion.messages[1].body["metadata"]["status"] == "interrupted"


def lost(name: str) -> dict:
    message = {
        "role": "tool",
        "id": "r",
        "toolCallId": name,
        "source": {"kind": "tool", "callId": name},
        "content": [],
        "isError": True,
    }
    return {"message": message, "error": {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}}


def test_tokens_are_told_by_the_names_of_the_schema():
    (body,) = bodies(log(reply({"type": "text", "text": "x"}, usage={"inputTokens": 1, "cacheWriteTokens": 2, "totalTokens": 9})))
    assert {name: count.text for name, count in body["metadata"]["usage"].items()} == {
        "input_tokens": "1",
        "cache_creation_input_tokens": "2",
    }


def test_an_image_is_named_and_the_report_says_where_it_is():
    image = {"type": "image", "attachment": {"attachmentId": "sha256:00", "mediaType": "image/png", "bytes": 3}}
    data = {"role": "user", "id": "u", "source": {"kind": "user"}, "content": [image]}
    conversion = read(log({"type": "user/message", "data": data, "surfaceOp": "append"}))
    assert conversion.messages[0].body["content"] == [{"type": "image_url", "image_url": {"url": "sha256:00"}}]
    assert any("attachments" in item["reason"] for item in conversion.report["kept_native"])


def test_a_torn_last_line_an_unknown_event_and_a_blank_line_come_home():
    lines = [*log(user("a"), {"type": "of next year", "data": 1}), b"\n", b'{"type":"user/mess']
    conversion = read(lines)
    told = {item["reason"] for item in conversion.report["kept_native"] if item["path"].startswith("lines/")}
    assert {"unknown event type", "a blank line", "the last line is torn: its end was not written"} <= told
    assert [line.rstrip(b"\n") for line in write(session_of(conversion), Target()).records] == [
        line.rstrip(b"\n") for line in lines
    ]
    assert read(lines, is_final=False).natives == []


def test_meta_tells_of_the_session_its_parent_and_its_fork():
    title = {"type": "session/title", "data": {"title": "T", "messageSeqs": [0], "source": {"kind": "fallback"}}}
    assert read(log(user("a"), title)).meta == {
        "title": "T",
        "agent_source": "dsh",
        "native_session_id": "s",
        "cwd": "/w",
    }
    assert read(log(origin="subagent", parentSession="p")).meta["subagent"] == {"agent_id": "s", "parent_session_id": "p"}
    assert read(log(isSeeded=True, parentSession="p")).meta["forked_from"] == {"session_id": "p"}


def test_a_path_is_made_of_the_working_directory_and_the_id():
    assert project_key("/home/ann/my work/é") == "--home-ann-my~0020work-~00E9--"
    assert project_key("C:\\Users\\ann") == "--C-Users-ann--"
    assert project_key("/") == "--root--"
    assert project_key("/" + "x" * 300) == f"--{'x' * 251}--"
    assert [encode_segment(name) for name in (".", "..", "a~b", "session-1.x", "😀")] == [
        "~002E",
        "~002E~002E",
        "a~007Eb",
        "session-1.x",
        "~D83D~DE00",
    ]
    assert path_of({"id": "s", "version": 0}) == "sessions/_no-cwd/s/session.jsonl.zstd"


def test_it_is_known_by_its_lines():
    assert detect(log(user("a")))[0] == 1.0
    assert detect([b'{"type":"session","schema_version":1,"meta":{}}\n', b'{"role":"user","content":"x"}\n'])[0] == 0.0
