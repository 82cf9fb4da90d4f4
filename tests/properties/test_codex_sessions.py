"""Any session of any agent, as a rollout of Codex: it can be resumed, its model is sent all of it, nothing is lost unsaid."""

from collections import Counter
from typing import Any

from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from jsons import values
from rollouts import rollouts
from standard_sessions import MARK, marks_in, sessions

from adapters import registry
from adapters.codex.live import history_of
from adapters.codex.reader import read
from adapters.codex.records import lines_of
from adapters.codex.validator import problems
from adapters.codex.writer import write
from adapters.json_lines import parse_line
from adapters.leaves import leaves, path_name
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.moments import moment_of
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from eventstore.wire.codec import dump, parse, parse_object
from eventstore.wire.message import check_message
from eventstore.wire.requests import native_body

Json = dict[str, Any]
NOW = Target(now_ms=1_800_000_000_000, cwd="/work")
SAID_NOTHING = ["nothing was said"]


def foreign(session: Session) -> Session:
    """As from an agent that is not Codex."""
    return Session(session.meta | {"agent_source": "other", "native_session_id": "s1"}, session.entries)


def values_of(written: Written) -> list[Json]:
    return [parse(line.decode()) for line in written.records]


def items_of(written: Written) -> list[Json]:
    """All items, live or not, in the order of the file."""
    found: list[Json] = []
    for line in values_of(written):
        payload = line["payload"]
        found += [payload] if line["type"] == "response_item" else payload.get("replacement_history", [])
    return found


@draws(150)
@given(sessions().map(foreign))
def test_it_is_one_that_the_agent_resumes(session):
    assert problems(write(session, NOW).records) in ([], SAID_NOTHING)


@draws(150)
@given(sessions().map(foreign))
def test_writing_again_gives_the_same_file_at_the_same_place(session):
    assert write(session, NOW) == write(session, NOW)
    later = write(session, Target(now_ms=NOW.now_ms + 1))
    assert write(session, NOW).session_id == later.session_id


@draws(150)
@given(sessions().map(foreign))
def test_what_was_said_stands_in_the_same_order(session):
    """Texts and calls in the order of the session; only results that stood before their calls move."""
    there = [mark for item in items_of(write(session, NOW)) for mark in marks_in(item)]
    spoken = [
        mark
        for message in session.messages
        if message["role"] != "tool"
        for mark in marks_in([message.get("content"), message.get("tool_calls")])
    ]
    assert len(there) == len(set(there))
    assert [mark for mark in there if mark in set(spoken)] == [mark for mark in spoken if mark in set(there)]


@draws(150)
@given(sessions().map(foreign))
def test_each_call_has_one_result_behind_it(session):
    written = write(session, NOW)
    calls = [item for item in items_of(written) if item["type"] == "function_call"]
    results = [item for item in items_of(written) if item["type"] == "function_call_output"]
    ids = [call["call_id"] for call in calls]
    assert len(set(ids)) == len(ids)
    assert max(Counter(item["call_id"] for item in results).values(), default=1) == 1
    live = [unit.item for unit in history_of(lines_of(written.records)).live]
    for at, item in enumerate(live):
        if item["type"] == "function_call":
            assert any(later.get("call_id") == item["call_id"] for later in live[at + 1 :])


@draws(150)
@given(sessions().map(foreign))
def test_arguments_are_the_string_that_they_were(session):
    given_ = [call["function"]["arguments"] for message in session.messages for call in message.get("tool_calls", ())]
    assert [item["arguments"] for item in items_of(write(session, NOW)) if item["type"] == "function_call"] == given_


@draws(150)
@given(sessions().map(foreign))
def test_times_are_never_ahead(session):
    times = [moment_of(line["timestamp"]) for line in values_of(write(session, NOW))]
    assert all(time is not None and time <= NOW.now_ms for time in times)


@draws(150)
@given(sessions().map(foreign))
def test_every_leaf_is_in_the_file_or_in_the_report(session):
    written = write(session, NOW)
    counts = dict(written.report["counts"])
    counts.pop("messages")
    assert counts.get("fields", {"found": 0})["found"] == sum(1 for message in session.messages for _ in leaves(message))
    assert counts.get("entries", {"found": 0})["found"] == len(session.messages)
    for unit, of_unit in counts.items():
        assert of_unit["found"] == sum(of_unit.values()) - of_unit["found"], unit
    told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
    there = dump([parse(line.decode()) for line in written.records])
    for message in session.messages:
        for path, leaf in leaves(message):
            if isinstance(leaf, str) and (mark := MARK.search(leaf)) and mark.group() not in there:
                role = message["role"]
                assert {f"fields/{role}", f"fields/{role}.{path_name(path)}"} & told, path


BY_OTHER_MEANS = ("role", "type", "reply_id", "status", "is_error", "encrypted")


@draws(150)
@given(sessions().map(foreign))
def test_every_leaf_that_counts_as_converted_can_be_found(session):
    for message in session.messages:
        written = write(Session({"title": "T"}, (message,)), NOW)
        told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
        there = dump(values_of(written))
        for path, leaf in leaves(message):
            if told & {f"fields/{message['role']}.{path_name(path)}", f"fields/{message['role']}"}:
                continue
            if path[0] == "created_at" or path[-1] in BY_OTHER_MEANS:
                continue  # written in another spelling, or by what the line is; other tests look at those
            assert leaf in (None, "", [], {}, False) or dump(leaf)[1:-1] in there, path


@draws(150)
@given(sessions().map(foreign))
def test_no_thinking_is_sent_to_the_model_and_no_sealed_one_goes_over(session):
    written = write(session, NOW)
    assert not any(item["type"] == "reasoning" for item in items_of(written))
    thinkings = [message["thinking"] for message in session.messages if message.get("thinking")]
    sealed = [
        item["text"]
        for thinking in thinkings
        for item in thinking.get("items", ())
        if (item.get("signature") or item.get("data")) and len(item.get("text", "")) > 4
    ]
    readable = dump([item.get("text") for thinking in thinkings for item in thinking.get("items", ()) if "data" not in item])
    shown = dump([line["payload"]["text"] for line in values_of(written) if line["payload"].get("type") == "agent_reasoning"])
    assert [text for text in sealed if dump(text)[1:-1] in shown and dump(text)[1:-1] not in readable] == []


@draws(150)
@given(sessions().map(foreign))
def test_our_own_reader_reads_back_what_was_written(session):
    """The live items, one message each; a reader of the file counts no line twice."""
    written = write(session, NOW)
    back = read(written.records)
    live = [unit.item for unit in history_of(lines_of(written.records)).live]
    assert len(back.messages) == len(live)
    assert back.report["counts"]["lines"]["found"] == len(written.records)


@draws(150)
@given(sessions().map(foreign), st.sampled_from(["claude-code", "hermes", "opencode", "messages"]))
def test_through_codex_to_any_other_agent(session, agent):
    back = session_of(read(write(session, NOW).records))
    spoken = [mark for message in back.messages if message["role"] == "user" for mark in marks_in(message.get("content"))]
    if not spoken:
        return  # a session in which nobody said anything is none to others
    written = registry.write(agent, back, NOW)
    there = marks_in(written.records if agent in ("hermes", "opencode") else [parse(line.decode()) for line in written.records])
    assert set(spoken) <= set(there)


# Rollouts of Codex, with all that goes wrong in them.


def through_a_messages_file(session: Session) -> Session:
    return session_of(messages_reader.read(messages_writer.write(session, Target()).records))


def kept(raw: bytes) -> bytes:
    """A line as it comes home: its value in our spelling; a text that is no value as it is."""
    bare = raw.removesuffix(b"\n").removesuffix(b"\r")
    parsed = parse_line(bare)
    return (dump(parsed.value).encode() if parsed.is_exact else bare) + b"\n"


@draws(150)
@given(rollouts())
def test_any_rollout_comes_home_as_it_was(lines):
    for session in (session_of(read(lines)), through_a_messages_file(session_of(read(lines)))):
        written = write(session, Target())
        there = [line for line in written.records if b'"originator":"tasuki"' not in line]  # a file of no line is a new session
        assert there == [kept(line) for line in lines]
        assert written.report["dropped"] == written.report["degraded"] == []


@draws(150)
@given(rollouts())
def test_the_hub_takes_every_entry_of_any_rollout_and_every_leaf_is_counted(lines):
    conversion = read(lines)
    assert len({entry.append_id for entry in conversion.entries}) == len(conversion.entries)
    for message in conversion.messages:
        check_message(parse_object(dump(message.body)))
    for batch in conversion.natives:
        native_body(dump(batch.body))
    counts = conversion.report["counts"]
    parsed = [parse_line(line.removesuffix(b"\n")) for line in lines]
    found = sum(1 for one in parsed if not one.problem for _ in leaves(one.value))
    assert counts.get("fields", {"found": 0})["found"] == found
    assert counts.get("lines", {"found": 0})["found"] == len(lines)


@draws(150)
@given(rollouts())
def test_a_session_that_grows_appends_each_message_once(lines):
    bodies: dict[str, str] = {}
    for end in range(len(lines) + 1):
        for message in read(lines[:end], is_final=False).messages:
            assert bodies.setdefault(message.append_id, dump(message.body)) == dump(message.body)
    assert {message.append_id for message in read(lines).messages} <= bodies.keys()


@draws(150)
@given(rollouts())
def test_what_left_the_live_history_is_named(lines):
    """What a follower appended is live still, or named as off the branch."""
    seen: set[str] = set()
    for end in range(len(lines) + 1):
        conversion = read(lines[:end], is_final=False)
        live = {message.native_id for message in conversion.messages}
        seen |= live
        assert seen - live == set(conversion.off_branch) & (seen - live)
        assert not live & set(conversion.off_branch)


@draws(150)
@given(rollouts(), sessions().map(foreign))
def test_others_go_on_where_codex_stopped_and_it_comes_home_whole(lines, session):
    """Home lines in their order, as they were; what others said behind them."""
    began = session_of(read(lines))
    written = write(Session(began.meta, (*began.entries, *session.messages)), Target())
    home = [kept(line) for line in lines]
    there = list(written.records)
    for line in home:
        assert line in there
        there = there[there.index(line) + 1 :]
    assert written.report["counts"].get("entries", {"found": 0})["found"] == len(began.messages) + len(session.messages)


@draws(60)
@given(st.lists(st.binary(max_size=80) | values.map(lambda value: dump(value).encode()), max_size=4))
def test_no_text_makes_the_reader_or_the_validator_fail(lines):
    assert isinstance(problems(lines), list)
    assert read(lines).report["counts"].get("lines", {"found": 0})["found"] == len(lines)


@draws(150)
@given(rollouts())
def test_no_rollout_makes_the_validator_fail(lines):
    assert isinstance(problems(lines), list)
