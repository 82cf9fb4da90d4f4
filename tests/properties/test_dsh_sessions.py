"""Any session of any agent, as a log of DeepSeek Harness: one that it opens, in the order it was said, nothing lost unsaid."""

from typing import Any

from draws import draws, shared
from hypothesis import given
from hypothesis import strategies as st
from jsons import texts, values
from standard_sessions import MARK, marks_in, sessions

from adapters.claude_code import validator as claude_code_validator
from adapters.claude_code import writer as claude_code_writer
from adapters.dsh.detect import detect
from adapters.dsh.reader import read
from adapters.dsh.records import spot_of
from adapters.dsh.validator import problems
from adapters.dsh.writer import write
from adapters.hermes import validator as hermes_validator
from adapters.hermes import writer as hermes_writer
from adapters.leaves import leaves, path_name
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.opencode import validator as opencode_validator
from adapters.opencode import writer as opencode_writer
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.values import int_of
from adapters.written import Written
from eventstore.wire.codec import Number, dump, parse, parse_object
from eventstore.wire.message import check_message
from eventstore.wire.requests import native_body

Json = dict[str, Any]
NOW = Target(now_ms=1_800_000_000_000, cwd="/work")


def foreign(session: Session) -> Session:
    """As from an agent that is not DeepSeek Harness."""
    return Session(session.meta | {"agent_source": "other", "native_session_id": "s1"}, session.entries)


def events_of(written: Written) -> list[Json]:
    return [parse(line.decode()) for line in written.records[1:]]


def said_in(written: Written) -> list[tuple[str, Json]]:
    """The messages of a log, each with its event's type, in their order."""
    return [(event["type"], spot.message) for event in events_of(written) if (spot := _spot(event))]


def _spot(event: Json) -> Any:
    return spot_of(event) if "surfaceOp" in event else None


@draws(150)
@given(sessions().map(foreign))
def test_it_is_one_that_the_agent_opens(session):
    assert problems(write(session, NOW).records) == []


@draws(150)
@given(sessions().map(foreign))
def test_writing_again_gives_the_same_log(session):
    assert write(session, NOW) == write(session, NOW)
    assert write(session, NOW).session_id == write(session, Target(now_ms=NOW.now_ms + 1)).session_id


@draws(150)
@given(sessions().map(foreign))
def test_what_was_said_stands_in_the_same_order(session):
    """Texts in the order of the session; only results may move, right behind their calls."""
    there = [mark for _, message in said_in(write(session, NOW)) for mark in marks_in(message["content"])]
    spoken = [mark for message in session.messages if message["role"] != "tool" for mark in marks_in(message.get("content"))]
    assert len(there) == len(set(there))
    assert [mark for mark in there if mark in set(spoken)] == [mark for mark in spoken if mark in set(there)]


@draws(150)
@given(sessions().map(foreign))
def test_each_call_starts_and_has_its_result_before_its_step_ends(session):
    events = events_of(write(session, NOW))
    ids: list[str] = []
    for place, event in enumerate(events):
        if event["type"] != "assistant/message":
            continue
        calls = [block for block in event["data"]["message"]["content"] if block["type"] == "tool-call"]
        behind = events[place + 1 : place + 1 + 2 * len(calls)]
        started = [(one["data"]["callId"], one["data"]["name"], one["data"]["arguments"]) for one in behind[: len(calls)]]
        assert started == [(call["id"], call["name"], call["arguments"]) for call in calls]
        assert [one["data"]["message"]["toolCallId"] for one in behind[len(calls) :]] == [call["id"] for call in calls]
        assert events[place + 1 + 2 * len(calls)]["type"] == "step/end"
        ids += (call["id"] for call in calls)
    assert len(ids) == len(set(ids)) == sum(event["type"] == "tool/result" for event in events)


@draws(150)
@given(sessions().map(foreign))
def test_arguments_are_the_string_that_they_were(session):
    given_ = [call["function"]["arguments"] for message in session.messages for call in message.get("tool_calls", ())]
    written = [event["data"]["arguments"] for event in events_of(write(session, NOW)) if event["type"] == "tool/call"]
    assert written == given_


@draws(150)
@given(sessions().map(foreign))
def test_times_are_in_milliseconds_and_never_ahead(session):
    written = write(session, NOW)
    times = [int_of(event["time"]) for event in events_of(written)] + [int_of(parse(written.records[0].decode())["createdAt"])]
    assert all(time is not None and 0 <= time <= NOW.now_ms for time in times)


@draws(150)
@given(sessions().map(foreign))
def test_every_leaf_is_in_the_log_or_in_the_report(session):
    written = write(session, NOW)
    counts = dict(written.report["counts"])
    counts.pop("messages")
    assert counts.get("fields", {"found": 0})["found"] == sum(1 for message in session.messages for _ in leaves(message))
    assert counts.get("entries", {"found": 0})["found"] == len(session.messages)
    for unit, of_unit in counts.items():
        assert of_unit["found"] == sum(of_unit.values()) - of_unit["found"], unit
    told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
    there = b"".join(written.records).decode()
    for message in session.messages:
        for path, leaf in leaves(message):
            if isinstance(leaf, str) and (mark := MARK.search(leaf)) and mark.group() not in there:
                role = message["role"]
                assert {f"fields/{role}", f"fields/{role}.{path_name(path)}"} & told, path


BY_OTHER_MEANS = ("type", "reply_id", "status", "is_error", "encrypted", "append_id", "created_at")


@draws(150)
@given(sessions().map(foreign))
def test_every_leaf_that_counts_as_converted_can_be_found(session):
    for message in session.messages:
        written = write(Session({"title": "T"}, (message,)), NOW)
        told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
        there = b"".join(written.records).decode()
        for path, leaf in leaves(message):
            is_told = told & {f"fields/{message['role']}.{path_name(path)}", f"fields/{message['role']}"}
            if is_told or path[-1] in BY_OTHER_MEANS or path[-2:] == ("thinking", "content"):
                continue  # written in another spelling, or by what the event is; other tests look at those
            assert leaf in (None, "", [], {}, False) or dump(leaf)[1:-1] in there, path


@draws(150)
@given(sessions().map(foreign))
def test_no_thinking_that_is_signed_or_encrypted_goes_over(session):
    """Nor its text: it opens only where it came from."""
    items = [item for message in session.messages for item in (message.get("thinking") or {}).get("items", ())]
    sealed = [item["text"] for item in items if (item.get("signature") or item.get("data")) and len(item.get("text", "")) > 4]
    written = write(session, NOW)
    blocks = [block for _, message in said_in(written) for block in message["content"]]
    thoughts = dump([block["text"] for block in blocks if block["type"] == "reasoning"])
    open_too = dump([item for item in items if "data" not in item])
    assert [text for text in sealed if dump(text)[1:-1] in thoughts and dump(text)[1:-1] not in open_too] == []
    assert all("replayState" not in message["source"] for _, message in said_in(written))


@draws(150)
@given(sessions().map(foreign))
def test_our_own_reader_reads_back_what_was_written(session):
    written = write(session, NOW)
    back = read(written.records)
    assert back.report["warnings"] == [] or {item["path"] for item in back.report["warnings"]} <= {"fields/assistant/message"}
    shadowed = set(back.off_branch)
    assert [body.native_id for body in back.messages if body.native_id not in shadowed] == [
        body.native_id for body in back.messages
    ]
    assert len(back.messages) + len(shadowed) == len(said_in(written))
    assert detect(written.records)[0] > 0.9
    again = write(session_of(back), Target())
    assert again.records == written.records


@draws(150)
@given(sessions().map(foreign))
def test_the_others_take_what_is_read_back(session):
    back = session_of(read(write(session, NOW).records))
    assert claude_code_validator.problems(claude_code_writer.write(back, NOW).records) == [] or not back.messages
    hermes = hermes_validator.problems(hermes_writer.write(back, NOW).records)
    assert hermes == [] or not back.messages
    assert opencode_validator.problems(opencode_writer.write(back, NOW).records) == [] or not back.messages


# Logs of DeepSeek Harness, with all that goes wrong in them.

_text = st.builds(lambda text: {"type": "text", "text": text}, texts | st.just("x" * 99))
_blocks = st.lists(
    _text
    | st.builds(lambda text: {"type": "reasoning", "text": text}, texts | st.just("y" * 99))
    | st.fixed_dictionaries(
        {"type": st.just("tool-call")},
        optional={"id": st.sampled_from(["c1", "c2", ""]) | values, "name": texts | values, "arguments": texts | values},
    )
    | st.just({"type": "image", "attachment": {"attachmentId": "sha256:00", "mediaType": "image/png", "bytes": 3}})
    | values,
    max_size=4,
)
_content = _blocks | texts | values
_source = st.fixed_dictionaries(
    {"kind": st.sampled_from(["user", "model", "tool", "runtime-context", "compact-checkpoint", "agent-message"]) | values},
    optional={
        "provider": texts | values,
        "model": texts | values,
        "callId": st.sampled_from(["c1", "c2"]) | values,
        "replayState": st.just({"blocks": [{"type": "reasoning", "signature": "s" * 80}, {"type": "text"}]}) | values,
    },
)
_message = st.fixed_dictionaries(
    {"content": _content},
    optional={
        "id": st.sampled_from(["m1", "m2", "\ud800", "x" * 300]) | values,
        "role": st.sampled_from(["user", "assistant", "tool"]),
        "source": _source | values,
        "toolCallId": st.sampled_from(["c1", "c2"]) | values,
        "isError": st.booleans() | values,
    },
)
_wrapped = st.builds(
    lambda content, more: {"role": "user", "content": [{"type": "tool-result", "content": content, **more}]},
    _content,
    st.fixed_dictionaries({}, optional={"toolCallId": st.just("c1"), "isError": st.booleans()}),
)
_data = st.fixed_dictionaries(
    {"message": _message | _wrapped},
    optional={
        "turn": st.integers(0, 3),
        "usage": st.fixed_dictionaries({}, optional={"inputTokens": st.integers() | values, "totalTokens": st.just(3)}) | values,
        "interrupted": st.booleans() | values,
        "error": st.just({"name": "E", "code": "TOOL_OUTCOME_UNKNOWN"}) | st.just({"code": "X"}) | values,
        "stream": st.just([]) | values,
        "callId": st.sampled_from(["c1"]) | values,
    },
)
_types = st.sampled_from(["user/message", "assistant/message", "tool/result", "system/message", "developer/message"])
_op = st.just("append") | st.builds(
    lambda a, b: {"op": "replace", "startSeq": a, "endSeq": b}, st.integers(0, 5), st.integers(0, 5)
)
_event = st.fixed_dictionaries(
    {"type": _types, "data": _data | _message | values, "surfaceOp": _op},
    optional={"time": st.integers(0, 2**52) | values, "ignorable": st.just(True), "next year": values},
)
_other = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["turn/start", "session/title", "request/context", "text-chunks", "of next year"]) | texts,
        "data": values,
    }
)
_header = st.fixed_dictionaries(
    {"type": st.just("session"), "version": st.sampled_from([0, 4, 9]), "id": texts, "createdAt": st.integers(0, 9)},
    optional={"cwd": texts, "parentSession": texts, "origin": st.just("subagent"), "next year": values},
)


@st.composite
def _logs(draw: Any) -> list[bytes]:
    events = [event | {"seq": seq} for seq, event in enumerate(draw(st.lists(_event | _other, max_size=7)))]
    return [dump(line).encode() + b"\n" for line in [draw(_header), *events]]


logs = shared(_logs())


@draws(200)
@given(logs)
def test_any_log_comes_home_as_it_was(lines):
    conversion = read(lines)
    file = messages_writer.write(session_of(conversion), Target())
    for session in (session_of(conversion), session_of(messages_reader.read(file.records))):
        written = write(session, Target())
        assert [parse(line.decode()) for line in written.records] == [parse(line.decode()) for line in lines]
        assert written.report["dropped"] == written.report["degraded"] == written.report["synthesised"] == []


@draws(150)
@given(logs)
def test_the_hub_takes_every_entry_of_any_log_and_every_line_is_counted(lines):
    conversion = read(lines)
    assert len({entry.append_id for entry in conversion.entries}) == len(conversion.entries)
    for message in conversion.messages:
        check_message(parse_object(dump(message.body)))
    for batch in conversion.natives:
        native_body(dump(batch.body))
    assert conversion.report["counts"]["lines"]["found"] == len(lines)
    numbers = [message.line for message in conversion.messages] + [line for batch in conversion.natives for line in batch.lines]
    assert sorted(numbers) == list(range(1, len(lines) + 1))


@draws(150)
@given(logs)
def test_every_leaf_of_an_event_that_counts_as_converted_is_in_its_message(lines):
    """One event at a time, so that the report's paths are this event's."""
    for line in lines[1:]:
        conversion = read([lines[0], line])
        event = parse(line.decode())
        told = {item["path"] for item in conversion.report["kept_native"]}
        for message in conversion.messages:
            assert conversion.report["counts"]["fields"]["found"] == sum(1 for _ in leaves(event))
            there = dump([leaf for _, leaf in leaves({name: message.body[name] for name in message.body if name != "native"})])
            for path, leaf in leaves(event):
                is_said = f"fields/{event['type']}.{path_name(path)}" not in told and isinstance(leaf, str) and leaf.strip()
                if is_said and path[0] == "data" and path[-1] not in ("type", "role", "kind", "code"):
                    assert dump(leaf)[1:-1].replace("\\\\", "\\") in there.replace("\\\\", "\\"), path


@draws(150)
@given(logs)
def test_a_log_that_grows_appends_each_event_once(lines):
    bodies: dict[str, str] = {}
    for end in range(1, len(lines) + 1):
        for message in read(lines[:end], is_final=False).messages:
            assert bodies.setdefault(message.append_id, dump(message.body)) == dump(message.body)
    assert {message.append_id for message in read(lines).messages} <= bodies.keys()


@draws(150)
@given(logs)
def test_an_old_log_that_is_written_anew_is_one_that_the_agent_opens(lines):
    old = [dump(parse(lines[0].decode()) | {"version": Number("0")}).encode() + b"\n", *lines[1:]]
    conversion = read(old)
    written = write(session_of(conversion), Target(version="4", cwd="/work", now_ms=NOW.now_ms, session_id="s"))
    assert problems(written.records) == []
    assert written.report["counts"].get("entries", {"found": 0})["found"] == len(conversion.messages)


@draws(150)
@given(sessions().map(foreign), sessions().map(foreign))
def test_others_go_on_where_the_agent_stopped_and_its_lines_come_home_whole(began, session):
    before = write(began, NOW)
    own = session_of(read(before.records))
    written = write(Session(own.meta, (*own.entries, *session.messages)), NOW)
    assert problems(written.records) == []
    count = len(before.records)
    assert written.records[:count] == before.records
    found = written.report["counts"].get("entries", {"found": 0})["found"]
    assert found == len(own.messages) + len(session.messages)


@draws(60)
@given(st.lists(st.binary(max_size=80) | values.map(lambda value: dump(value).encode()), max_size=4))
def test_no_text_makes_the_reader_fail(lines):
    conversion = read(lines)
    assert len(conversion.entries) >= bool(lines)
    assert isinstance(write(session_of(conversion), NOW).records, tuple)


@draws(60)
@given(st.lists(values, max_size=3), logs)
def test_no_value_makes_the_validator_fail(records, lines):
    assert isinstance(problems([parse(dump(value)) for value in records]), list)
    assert isinstance(problems(lines), list)
