"""Any session of any agent, as an OpenCode export: it can be imported and gone on with, its order stays, nothing is lost unsaid."""

from collections import Counter
from typing import Any

from draws import draws, shared
from hypothesis import given
from hypothesis import strategies as st
from jsons import values
from standard_sessions import MARK, marks_in, sessions

from adapters.leaves import leaves, path_name
from adapters.opencode.reader import read, read_document
from adapters.opencode.validator import problems
from adapters.opencode.writer import write
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from eventstore.wire.codec import Number, dump, parse, parse_object
from eventstore.wire.message import check_message

NOW = Target(now_ms=1_800_000_000_000, cwd="/work", provider="fake", model="fake-model")
UNANSWERED = "[Tool execution was interrupted]"


def messages_of(written: Written) -> list[dict[str, Any]]:
    return written.records[0]["messages"]


@draws(150)
@given(sessions())
def test_it_is_one_that_an_import_takes(session):
    written = write(session, NOW)
    assert problems(written.records, NOW.now_ms) == []
    assert read([dump(written.records[0]).encode()]).report["counts"].get("records", {"found": 0})["found"] == len(
        messages_of(written)
    )


@draws(150)
@given(sessions())
def test_writing_again_gives_the_same_ids(session):
    first, later = write(session, NOW), write(session, Target(**{**fields(NOW), "now_ms": NOW.now_ms + 60_000}))
    assert first == write(session, NOW)
    assert [message["info"]["id"] for message in messages_of(first)] == [message["info"]["id"] for message in messages_of(later)]
    other = write(session, Target(**{**fields(NOW), "session_id": "ses_other"}))
    assert not ids_of(first) & ids_of(other), "OpenCode's ids are names for the whole database"


def fields(target: Target) -> dict[str, Any]:
    return {name: getattr(target, name) for name in Target.__slots__}


def ids_of(written: Written) -> set[str]:
    return {holder["id"] for message in messages_of(written) for holder in (message["info"], *message["parts"])}


@draws(150)
@given(sessions())
def test_what_was_said_stands_in_the_same_order(session):
    """Texts and calls in the order of the session; only results move, into their calls."""
    there = list(dict.fromkeys(marks_in(messages_of(write(session, NOW)))))
    results = {mark for message in session.messages if message["role"] == "tool" for mark in marks_in(message)}
    spoken = [mark for message in session.messages if message["role"] != "tool" for mark in marks_in(message)]
    assert [mark for mark in there if mark not in results] == [mark for mark in spoken if mark in set(there)]


@draws(150)
@given(sessions())
def test_times_rise_strictly_and_never_ahead(session):
    times = [message["info"]["time"]["created"] for message in messages_of(write(session, NOW))]
    assert times == sorted(set(times))
    assert all(time <= NOW.now_ms for time in times)


@draws(150)
@given(sessions())
def test_every_call_has_its_result_and_none_is_there_twice(session):
    written = write(session, NOW)
    tools = [part for message in messages_of(written) for part in message["parts"] if part["type"] == "tool"]
    calls = [call for message in session.messages for call in message.get("tool_calls") or ()]
    assert len(tools) == len(calls)
    assert len({tool["callID"] for tool in tools}) == len(tools)
    told = {item["path"]: item["count"] for item in written.report["synthesised"]}
    made_up = sum(1 for tool in tools if tool["state"].get("error") == UNANSWERED)
    assert told.get("fields/tool.content", 0) == made_up


def assert_every_leaf_is_there_or_told(session: Session, written: Written) -> None:
    counts = dict(written.report["counts"])
    assert sum(counts.pop("messages").values()) == len(session.messages)
    assert counts.get("fields", {"found": 0})["found"] == sum(1 for message in session.messages for _ in leaves(message))
    for unit, of_unit in counts.items():
        assert of_unit["found"] == sum(of_unit.values()) - of_unit["found"], unit
    told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
    there = dump(messages_of(written))
    for message in session.messages:
        for path, leaf in leaves(message):
            if isinstance(leaf, str) and (mark := MARK.search(leaf)) and mark.group() not in there:
                role = message["role"]
                assert {f"fields/{role}", f"fields/{role}.{path_name(path)}"} & told, path


@draws(150)
@given(sessions())
def test_every_leaf_is_in_the_document_or_in_the_report(session):
    assert_every_leaf_is_there_or_told(session, write(session, NOW))


@draws(150)
@given(sessions())
def test_every_leaf_that_counts_as_converted_can_be_found(session):
    """One message at a time, so that the report's paths are this message's: what no item names must stand in the document."""
    for message in session.messages:
        written = write(Session({"title": "T"}, (message,)), NOW)
        told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
        there = {dump(leaf) for record in messages_of(written) for _, leaf in leaves(record)}
        for path, leaf in leaves(message):
            if told & {f"fields/{message['role']}.{path_name(path)}", f"fields/{message['role']}"}:
                continue
            if path[0] in ("append_id", "created_at", "role", "schema_version"):
                continue  # said by ids, times and places
            if path[-1] in ("arguments", "reply_id", "type", "status", "origin", "trigger", "data", "format", "is_error"):
                continue  # written in another spelling; other tests look at those
            if path == ("thinking", "content") and message["thinking"].get("items"):
                continue  # said by its items
            assert leaf in (None, "", [], {}, False) or dump(leaf) in there, path


@draws(150)
@given(sessions())
def test_our_own_reader_reads_back_what_was_written(session):
    written = write(session, NOW)
    back = read([dump(written.records[0]).encode()])
    for message in back.messages:
        check_message(parse_object(dump(message.body)))
    calls = Counter(call["id"] for message in back.messages for call in message.body.get("tool_calls", ()))
    assert calls == Counter(message.body["tool_call_id"] for message in back.messages if message.body["role"] == "tool")
    assert write(session_of(back), Target()).records == (parse(dump(written.records[0])),)


# --- the reader, on documents of any shape

_ids = st.sampled_from(["msg_1", "msg_2", "msg_3", "", "ä"]) | values
_times = st.fixed_dictionaries(
    {}, optional={"created": st.integers(0, 10**13) | values, "completed": st.just(1), "compacted": values}
)
_states = st.fixed_dictionaries(
    {"status": st.sampled_from(["completed", "error", "running", "pending", "odd"])},
    optional={
        "input": values,
        "raw": st.just("{"),
        "output": st.text() | values,
        "error": st.text() | values,
        "time": _times | values,
        "metadata": st.just({"interrupted": True, "output": "x" * 80}) | values,
        "attachments": st.just([{"type": "file", "mime": "image/png", "url": "data:image/png;base64,AA=="}]) | values,
    },
)
_parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool", "reasoning", "file", "step-start", "compaction", "hologram"]) | values},
    optional={
        "id": _ids,
        "text": st.sampled_from(["said", "x" * 70]) | values,
        "synthetic": st.booleans(),
        "ignored": st.booleans(),
        "callID": st.sampled_from(["c1", ""]) | values,
        "tool": st.sampled_from(["bash", "task"]) | values,
        "state": _states | values,
        "mime": st.sampled_from(["image/png", "text/plain", "application/pdf"]) | values,
        "url": st.sampled_from(["data:image/png;base64,AA==", "file:///a", "https://a"]) | values,
        "metadata": st.just({"anthropic": {"signature": "s" * 80}, "openai": {"itemId": "i"}}) | values,
        "tail_start_id": _ids,
    },
)
_infos = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "assistant", "shell"]) | values},
    optional={
        "id": _ids,
        "time": _times | values,
        "parentID": _ids,
        "summary": st.just(True) | values,
        "finish": st.sampled_from(["stop", "length"]) | values,
        "error": st.just({"name": "APIError", "data": {"message": "no"}}) | values,
        "tokens": st.just({"input": 1, "cache": {"read": 2}}) | values,
        "modelID": st.just("m") | values,
        "providerID": st.just("p") | values,
    },
)
_records = st.fixed_dictionaries(
    {"info": _infos, "parts": st.lists(_parts | values, max_size=5) | values}, optional={"more": values}
)
_documents = st.fixed_dictionaries(
    {},
    optional={
        "info": st.fixed_dictionaries({}, optional={"id": st.just("ses_1"), "revert": st.builds(dict, messageID=_ids, partID=_ids)})
        | values,
        "messages": st.lists(_records | values, max_size=6) | values,
        "todo": values,
    },
)
documents = shared(_documents.map(lambda document: parse(dump(document))))


@draws(150)
@given(documents)
def test_any_document_is_read_counted_and_comes_home(document):
    conversion = read_document(document)
    for message in conversion.messages:
        check_message(parse_object(dump(message.body)))
    counts = dict(conversion.report["counts"])
    counts.pop("messages")
    for of_unit in counts.values():
        assert of_unit["found"] == sum(of_unit.values()) - of_unit["found"]
    records = document["messages"] if isinstance(document.get("messages"), list) else []
    rest = {key: value for key, value in document.items() if key != "messages" or value is not records}
    if not isinstance(document.get("messages"), list):
        rest = document
    assert counts["fields"]["found"] == sum(sum(1 for _ in leaves(value)) for value in [rest, *records])
    back = session_of(read_document(parse(dump(document))))
    home = write(Session(back.meta, tuple(parse(dump(entry)) for entry in back.entries)), Target()).records[0]
    if back.meta.get("native_session_id") and isinstance(document.get("messages"), list):
        assert home == document


@draws(150)
@given(documents, st.integers(0, 6))
def test_growth_changes_no_message_that_was_told(document, count):
    if not isinstance(document.get("messages"), list):
        return
    document["messages"] = sorted_as_opencode_does(document["messages"])
    before = read_document(document | {"messages": document["messages"][:count]}, is_final=False)
    after = {message.append_id: message.body for message in read_document(document, is_final=False).messages}
    for message in before.messages:
        assert after.get(message.append_id, message.body) == message.body


def sorted_as_opencode_does(records: list[Any]) -> list[Any]:
    """With ids and times of their own, in order, as its tables hold them."""
    sound = [record for record in records if isinstance(record, dict) and isinstance(record.get("info"), dict)]
    return [
        record
        | {"info": record["info"] | {"id": f"msg_{index}", "time": {"created": Number(str(index)), "completed": Number("1")}}}
        for index, record in enumerate(sound)
    ]


@draws(150)
@given(sessions(), st.booleans())
def test_others_go_on_where_opencode_stopped_and_it_comes_home_whole(session, has_natives_last):
    """Its own records first, as they were; then what others said, later than all of them."""
    own = parse(dump(write(Session({"title": "own"}, SAID), NOW).records[0]))
    began = session_of(read_document(own))
    entries = (*began.messages, *session.messages, *began.natives) if has_natives_last else (*began.entries, *session.entries)
    target = Target(now_ms=NOW.now_ms + 10_000, provider="fake", model="fake-model")
    written = write(Session(began.meta, entries), target)
    assert messages_of(written)[: len(own["messages"])] == own["messages"]
    assert problems(written.records, target.now_ms) == []
    again = session_of(read_document(parse(dump(written.records[0]))))
    twice = write(Session(began.meta, (*entries, *again.entries)), target)
    assert ids_of(twice) == ids_of(written), "what came home as its own is not written again"


SAID = (
    {"role": "user", "content": "Measure it.", "append_id": "own1"},
    {"role": "assistant", "content": "It drifts.", "append_id": "own2"},
)
