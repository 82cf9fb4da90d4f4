"""Sessions of others as logs that DeepSeek Harness resumes from; what is wrong with a log; and a log that others went on with."""

import pytest

from adapters.dsh.reader import read
from adapters.dsh.validator import problems
from adapters.dsh.writer import write
from adapters.session import Session, session_of
from adapters.target import Target, UnknownVersion
from eventstore.wire.codec import dump, parse

NOW = Target(now_ms=1_800_000_000_000, cwd="/work")


def session(*messages: dict, **meta) -> Session:
    said = {"agent_source": "claude-code", "native_session_id": "5e55", "cwd": "/there", **meta}
    return Session(said, tuple(parse(dump({"append_id": f"m{at}", **message})) for at, message in enumerate(messages)))


def user(content, **more) -> dict:
    return {"role": "user", "content": content, **more}


def asked(*ids: str, content=None, **more) -> dict:
    calls = [{"id": name, "type": "function", "function": {"name": "Read", "arguments": '{"a": 1.10}'}} for name in ids]
    return {"role": "assistant", "content": content, "tool_calls": calls, **more}


def said(content, **more) -> dict:
    return {"role": "assistant", "content": content, **more}


def answered(name: str, content, **more) -> dict:
    return {"role": "tool", "tool_call_id": name, "content": content, **more}


def events(*messages: dict, target: Target = NOW, **meta) -> list[dict]:
    written = write(session(*messages, **meta), target)
    assert problems(written.records) == []
    return [parse(line.decode()) for line in written.records]


def kinds(*messages: dict) -> list[str]:
    return [event["type"] for event in events(*messages)[2:] if event["type"] != "system/message"]


def contents(lines) -> list:
    return [message.body["content"] for message in read(lines).messages if message.body["role"] != "system"]


def told(*messages: dict) -> list[tuple]:
    """Each message of the log behind the system prompt at its head: its role, its texts, the call that it answers."""
    found = []
    for event in events(*messages):
        if "surfaceOp" in event and event["type"] != "system/message":
            message = event["data"].get("message", event["data"])
            texts = "".join(block.get("text", "") for block in message["content"])
            found.append((message["role"], texts, message.get("toolCallId")))
    return found


def test_a_prompt_opens_a_turn_and_a_reply_has_a_step_of_its_own():
    assert kinds(user("go"), asked("a"), answered("a", "1"), said("done"), user("on")) == [
        *("turn/start", "step/start", "user/message", "assistant/message", "tool/call", "tool/result", "step/end"),
        *("step/start", "assistant/message", "step/end", "turn/end"),
        *("turn/start", "step/start", "user/message", "step/end", "turn/end"),
    ]


def test_prompts_that_wait_for_a_reply_share_a_step():
    assert kinds(user("a"), user("b"), said("c"))[:5] == [
        *("turn/start", "step/start", "user/message", "user/message", "assistant/message")
    ]


def test_parallel_calls_have_their_results_in_the_order_of_the_calls():
    messages = [user("go"), asked("a", "b"), answered("b", "B"), user("wait"), answered("a", "A")]
    assert told(*messages)[2:] == [("tool", "A", "a"), ("tool", "B", "b"), ("user", "wait", None)]


def test_a_call_without_a_result_gets_one_that_says_so():
    (_, _, result) = told(user("go"), asked("a"))
    assert "No result" in result[1]
    (event,) = (event for event in events(user("go"), asked("a")) if event["type"] == "tool/result")
    assert event["data"]["message"]["isError"] is True


def test_of_two_results_the_first_counts_and_one_without_a_call_is_told_as_text():
    messages = [user("go"), asked("a"), answered("a", "1"), answered("a", "2"), answered("x", "lost")]
    assert told(*messages)[2] == ("tool", "1", "a")
    assert told(*messages)[3][0] == "user"
    assert told(*messages)[3][1].endswith("lost")


def test_an_id_that_is_used_twice_is_another_one_the_second_time():
    ids = [
        name for role, _, name in told(user("go"), asked("a"), answered("a", "1"), asked("a"), answered("a", "2")) if role == "tool"
    ]
    assert ids[0] == "a" != ids[1]
    empty = [name for role, _, name in told(user("go"), asked(""), said("x")) if role == "tool"]
    assert len(empty) == 1
    assert empty[0].startswith("call_")


def test_it_begins_with_the_user():
    assert told(said("hello"))[0][0] == "user"


def test_neighbours_of_one_reply_are_one_event():
    parts = [said("a", metadata={"reply_id": "r"}), asked("c", content="b", metadata={"reply_id": "r"})]
    assert told(user("go"), *parts, answered("c", "1"))[1:] == [("assistant", "ab", None), ("tool", "1", "c")]


def test_a_summary_stands_for_all_that_was_said_before_it():
    summary = user("so far", metadata={"compaction": {"trigger": "auto"}, "origin": "harness"})
    written = write(session(user("a"), said("b"), summary, said("c")), NOW)
    assert contents(written.records) == ["so far", "c"]
    assert len(read(written.records).off_branch) == 2


def test_the_surface_begins_with_a_system_prompt_that_a_summary_spares():
    """Else the agent puts its own behind what was said, and refuses the log the next time."""
    summary = user("so far", metadata={"compaction": {}})
    for messages in ([said("hello")], [user("a"), summary], [summary, user("b")]):
        shown = read(write(session(*messages), NOW).records).messages
        assert [message.body["role"] for message in shown].index("system") == 0
        assert shown[0].body["content"] is None


def test_what_another_harness_put_in_is_left_out():
    reminder = user("<system-reminder>", metadata={"origin": "harness"})
    assert told({"role": "system", "content": "You are"}, reminder, user("go")) == [("user", "go", None)]


def test_blanks_and_halves_of_surrogate_pairs_are_not_written():
    assert told(user(" \n"), user("go"), said("\ud800 half"))[1:] == [("assistant", "\ufffd half", None)]
    assert told(user("go"), asked("a"), answered("a", ""))[2] == ("tool", "", "a")


def test_nul_and_huge_texts_stay():
    text = "\0" + "x" * 3_000_000
    assert told(user("go"), asked("a"), answered("a", text))[2] == ("tool", text, "a")


def test_thinking_that_nobody_signed_is_written_and_sealed_thinking_is_not():
    thinking = {"items": [{"text": "open"}, {"text": "closed", "signature": "s"}, {"data": "d"}]}
    (_, shown) = told(user("go"), said("x", thinking=thinking))
    assert shown[1] == "openx"


def test_the_note_of_where_it_came_from_may_be_passed_over():
    note = events(user("go"), git_branch="main")[1]
    assert (note["type"], note["ignorable"]) == ("plugin:tasuki/import", True)
    assert note["data"] == {"agent": "claude-code", "nativeSessionId": "5e55", "gitBranch": "main", "messages": parse("1")}
    assert read(write(session(user("go"), git_branch="main"), NOW).records).meta["git_branch"] == "main"


def test_the_path_follows_the_directory_and_the_id():
    written = write(session(user("go")), Target(cwd="/home/ann", session_id="session-1"))
    assert written.path == "sessions/--home-ann--/session-1/session.v4.jsonl.zstd"
    nowhere = write(session(user("go"), cwd="relative"), Target())
    assert nowhere.path.startswith("sessions/_no-cwd/")
    assert [item["path"] for item in nowhere.report["warnings"]] == ["session/cwd"]


def test_a_sub_agent_is_a_session_below_its_own():
    child = session(user("task"), subagent={"agent_id": "a1", "parent_session_id": "old"}, native_session_id="agent-a1")
    written = write(session(user("go")), NOW, [child])
    header = parse(written.subagents[0].records[0].decode())
    assert (header["parentSession"], header["origin"], header["delegationDepth"].text) == (written.session_id, "subagent", "1")
    assert problems(written.subagents[0].records) == []


def test_formats_that_are_not_known_are_refused():
    with pytest.raises(UnknownVersion):
        write(session(user("go")), Target(version="5"))
    with pytest.raises(UnknownVersion):
        write(session(user("go")), Target(version="0"))


# A log that others went on with.


def open_log() -> list[bytes]:
    """A log that ends in the middle of a step: one call has its result, one has started, one has not."""
    messages = [user("go"), asked("a", "b", "c"), answered("a", "1")]
    lines = list(write(session(*messages), NOW).records)
    values = [parse(line.decode()) for line in lines]
    first_result = next(at for at, event in enumerate(values) if event["type"] == "tool/result")
    kept = [event for event in values[: first_result + 1] if event.get("data", {}).get("callId") != "c"]
    kept[-1].pop("sourceEventSeqs")
    return [dump(event).encode() + b"\n" for event in renumbered(kept)]


def test_calls_that_are_open_at_home_are_answered_before_others_go_on():
    lines = open_log()
    own = session_of(read(lines))
    more = [parse(dump(one)) for one in (answered("b", "late", append_id="x1"), user("on", append_id="x2"))]
    written = write(Session(own.meta, (*own.entries, *more)), NOW)
    assert problems(written.records) == []
    assert list(written.records[: len(lines)]) == lines
    results = [event["data"]["message"] for line in written.records if (event := parse(line.decode()))["type"] == "tool/result"]
    assert [result["toolCallId"] for result in results] == ["a", "b", "c"]
    assert results[1]["content"][0]["text"] == "late"
    assert "No result" in results[2]["content"][0]["text"]


def test_a_fork_that_holds_no_native_records_is_written_anew():
    own = session_of(read(write(session(user("a"), said("b"), user("c")), NOW).records))
    fork = Session(own.meta, tuple(own.messages[:3]))
    written = write(fork, NOW)
    assert problems(written.records) == []
    assert contents(written.records) == ["a", "b"]
    names = [message.native_id for message in read(written.records).messages[1:]]
    assert names == [message["metadata"]["native_id"] for message in own.messages[1:3]]
    assert any(item["path"] == "lines/message" for item in written.report["degraded"])


def test_its_own_replies_keep_the_state_that_opens_only_there():
    source = {"kind": "model", "provider": "deepseek-official", "model": "m", "replayState": {"blocks": [{"signature": "s"}, {}]}}
    content = [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "so"}]
    message = {"role": "assistant", "id": "a", "content": content, "source": source}
    header = {"type": "session", "version": 0, "id": "s", "createdAt": 1, "cwd": "/w", "delegationDepth": 0}
    first = {
        "type": "user/message",
        "seq": 0,
        "time": 1,
        "data": {"content": [{"type": "text", "text": "q"}]},
        "surfaceOp": "append",
    }
    second = {"type": "assistant/message", "seq": 1, "time": 2, "data": {"turn": 1, "step": 1, "message": message}}
    lines = [dump(line).encode() + b"\n" for line in (header, first, second | {"surfaceOp": "append"})]
    written = write(session_of(read(lines)), Target(version="4"))
    assert problems(written.records) == []
    (reply,) = (event for line in written.records if (event := parse(line.decode()))["type"] == "assistant/message")
    assert reply["data"]["message"]["source"] == source
    assert reply["data"]["message"]["content"] == content


def test_another_id_is_followed_by_the_lines_that_name_it():
    lines = list(write(session(user("a")), NOW).records)
    marker = {"sessionId": parse(lines[0].decode())["id"], "throughSeq": 0, "sessionFormatVersion": 4}
    event = {"type": "session-log-deepseek/delivery-accepted", "seq": len(lines) - 1, "time": 1, "data": marker}
    lines.append(dump(event).encode() + b"\n")
    written = write(session_of(read(lines)), Target(session_id="other"))
    assert parse(written.records[0].decode())["id"] == "other"
    assert parse(written.records[-1].decode())["data"]["sessionId"] == "other"
    assert written.records[1:-1] == tuple(lines[1:-1])


# What the agent refuses, one fault at a time.


def broken(change) -> list[str]:
    lines = [parse(line.decode()) for line in write(session(user("go"), asked("a"), answered("a", "1"), said("x")), NOW).records]
    assert problems([dump(line).encode() + b"\n" for line in lines]) == []
    changed = change(lines)
    return problems([dump(line).encode() + b"\n" for line in (lines if changed is None else changed)])


def at(lines: list[dict], kind: str) -> dict:
    return next(line for line in lines if line["type"] == kind)


def renumbered(lines: list[dict]) -> list[dict]:
    return [line | ({"seq": place - 1} if place else {}) for place, line in enumerate(lines)]


def without(kind: str):
    return lambda lines: renumbered([line for line in lines if line["type"] != kind])


FAULTS = {
    "no system prompt at the head": (
        lambda lines: renumbered([*lines[:4], *lines[5:6], lines[4], *lines[6:]]),
        "a system prompt behind other messages",
    ),
    "a title of nothing": (lambda lines: lines[1].update(type="session/title", data={"messageSeqs": [0]}), "no earlier prompt"),
    "another session's delivery": (
        lambda lines: lines[2].update(
            type="session-log-deepseek/delivery-accepted", data={"sessionFormatVersion": 4, "throughSeq": 0, "sessionId": "x"}
        ),
        "a delivery of another session",
    ),
    "a fork without its mark": (lambda lines: lines[0].update(isSeeded=True), "the mark of what was inherited"),
    "no stream": (lambda lines: at(lines, "assistant/message")["data"].__delitem__("stream"), "invalid settlement fields"),
    "a call that never starts": (without("tool/call"), "has not started"),
    "a call without a result": (without("tool/result"), "has no result before the end of its step"),
    "a hole in the numbers": (lambda lines: lines.__delitem__(3), "its seq is not"),
    "an unknown event": (lambda lines: lines[1].__delitem__("ignorable"), "not known, and that may not be passed over"),
    "an unknown field of the header": (lambda lines: lines[0].update(more=1), "a field that is not known"),
    "other arguments": (
        lambda lines: at(lines, "tool/call")["data"].update(arguments='{"a":1.10}'),
        "by this name and these arguments",
    ),
    "another name": (lambda lines: at(lines, "tool/call")["data"].update(name="read"), "by this name and these arguments"),
    "no place on the surface": (lambda lines: at(lines, "user/message").__delitem__("surfaceOp"), "does not say where it stands"),
    "a reply made of others": (lambda lines: at(lines, "assistant/message").update(sourceEventSeqs=[1]), "sourceEventSeqs"),
    "a step that is not closed": (without("step/end"), "whose step is open"),
    "a turn that is left out": (lambda lines: at(lines, "turn/start")["data"].update(turn=2), "does not follow turn 0"),
    "a relative directory": (lambda lines: lines[0].update(cwd="work"), "no absolute path"),
    "no id": (lambda lines: lines[0].update(id=""), "no id"),
    "a time in words": (lambda lines: lines[2].update(time="now"), "its time is no whole number"),
    "a result with another call": (
        lambda lines: at(lines, "tool/result")["data"]["message"].update(toolCallId="b"),
        "names two calls",
    ),
    "an older result": (lambda lines: at(lines, "tool/result")["data"]["message"].update(role="user"), "role is not tool"),
    "the prompt in a request's header": (
        lambda lines: at(lines, "turn/start").update(type="request/header", data={"header": {"system": "x"}}),
        "is an event",
    ),
    "an older format": (lambda lines: lines[0].update(version=3), "format 3"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_validator_finds_what_the_agent_refuses(fault):
    change, problem = FAULTS[fault]
    assert any(problem in found for found in broken(change)), broken(change)


def test_a_replacement_must_name_all_that_it_stands_for():
    summary = user("so far", metadata={"compaction": {}})
    lines = [parse(line.decode()) for line in write(session(user("a"), said("b"), summary), NOW).records]
    replacing = next(line for line in lines if isinstance(line.get("surfaceOp"), dict))
    replacing["sourceEventSeqs"] = replacing["sourceEventSeqs"][:1]
    assert any("does not name all" in found for found in problems([dump(line).encode() + b"\n" for line in lines]))


def test_a_torn_end_is_found():
    lines = list(write(session(user("a")), NOW).records)
    assert problems([*lines[:-1], lines[-1][:-5]]) != []
    assert problems([]) == ["line 1: no header"]
