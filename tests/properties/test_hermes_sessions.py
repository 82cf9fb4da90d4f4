"""Any session of any agent, as an export of Hermes: its import takes it, its model is sent all of it, nothing is lost unsaid."""

from typing import Any

from draws import draws, shared
from hypothesis import given
from hypothesis import strategies as st
from jsons import texts, values
from standard_sessions import MARK, marks_in, sessions

from adapters.hermes.reader import read, read_document
from adapters.hermes.records import SESSION_COLUMNS
from adapters.hermes.times import decimal_of
from adapters.hermes.validator import problems
from adapters.hermes.writer import write
from adapters.leaves import leaves, path_name
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from eventstore.wire.codec import Number, canonical, dump, parse, parse_object
from eventstore.wire.message import check_message
from eventstore.wire.requests import native_body

Json = dict[str, Any]
NOW = Target(now_ms=1_800_000_000_000, cwd="/work")
SAID_NOTHING = ["session 1: no live rows: it is found, but has no messages"]


def foreign(session: Session) -> Session:
    """As from an agent that is not Hermes."""
    return Session(session.meta | {"agent_source": "other", "native_session_id": "s1"}, session.entries)


def rows_of(written: Written) -> list[Json]:
    document: Json = written.records[0]
    return list(document["messages"])


def live_rows(written: Written) -> list[Json]:
    return [row for row in rows_of(written) if row["active"] == Number("1")]


@draws(150)
@given(sessions().map(foreign))
def test_it_is_one_that_the_import_takes_and_the_agent_resumes(session):
    assert problems(write(session, NOW).records) in ([], SAID_NOTHING)


@draws(150)
@given(sessions().map(foreign))
def test_writing_again_gives_the_same_export(session):
    assert write(session, NOW) == write(session, NOW)
    assert write(session, NOW).session_id == write(session, Target(now_ms=NOW.now_ms + 1)).session_id


@draws(150)
@given(sessions().map(foreign))
def test_what_was_said_stands_in_the_same_order(session):
    """Texts in the order of the session; only results may move, right behind their calls."""
    there = [mark for row in rows_of(write(session, NOW)) for mark in marks_in([row["content"], row["tool_calls"]])]
    spoken = [mark for message in session.messages if message["role"] != "tool" for mark in marks_in(message.get("content"))]
    assert len(there) == len(set(there))
    assert [mark for mark in there if mark in set(spoken)] == [mark for mark in spoken if mark in set(there)]


@draws(150)
@given(sessions().map(foreign))
def test_each_call_has_its_result_right_behind_it_in_the_order_of_the_calls(session):
    rows = rows_of(write(session, NOW))
    ids: list[str] = []
    for place, row in enumerate(rows):
        calls = [call["id"] for call in row["tool_calls"] or ()]
        behind = rows[place + 1 : place + 1 + len(calls)]
        assert [result["tool_call_id"] for result in behind] == calls
        assert [result["tool_name"] for result in behind] == [call["function"]["name"] for call in row["tool_calls"] or ()]
        ids += calls
    assert len(ids) == len(set(ids)) == sum(row["role"] == "tool" for row in rows)


@draws(150)
@given(sessions().map(foreign))
def test_arguments_are_the_string_that_they_were(session):
    given_ = [call["function"]["arguments"] for message in session.messages for call in message.get("tool_calls", ())]
    written = [call["function"]["arguments"] for row in rows_of(write(session, NOW)) for call in row["tool_calls"] or ()]
    assert written == given_


@draws(150)
@given(sessions().map(foreign))
def test_times_are_in_seconds_and_never_ahead(session):
    written = write(session, NOW)
    times = [decimal_of(row["timestamp"]) for row in rows_of(written)] + [decimal_of(written.records[0]["started_at"])]
    assert all(time is not None and time * 1000 <= NOW.now_ms for time in times)


def assert_every_leaf_is_there_or_told(session: Session, written: Written) -> None:
    counts = dict(written.report["counts"])
    counts.pop("messages")
    assert counts.get("fields", {"found": 0})["found"] == sum(1 for message in session.messages for _ in leaves(message))
    assert counts.get("entries", {"found": 0})["found"] == len(session.messages)
    for unit, of_unit in counts.items():
        assert of_unit["found"] == sum(of_unit.values()) - of_unit["found"], unit
    told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
    there = dump(written.records)
    for message in session.messages:
        for path, leaf in leaves(message):
            if isinstance(leaf, str) and (mark := MARK.search(leaf)) and mark.group() not in there:
                role = message["role"]
                assert {f"fields/{role}", f"fields/{role}.{path_name(path)}"} & told, path


@draws(150)
@given(sessions().map(foreign))
def test_every_leaf_is_in_the_export_or_in_the_report(session):
    assert_every_leaf_is_there_or_told(session, write(session, NOW))


@draws(150)
@given(sessions().map(foreign))
def test_every_leaf_that_counts_as_converted_can_be_found(session):
    for message in session.messages:
        written = write(Session({"title": "T"}, (message,)), NOW)
        told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
        there = dump(written.records)
        for path, leaf in leaves(message):
            if told & {f"fields/{message['role']}.{path_name(path)}", f"fields/{message['role']}"}:
                continue
            if (
                path[0] == "created_at"
                or path[-1] in ("type", "reply_id", "status", "is_error", "encrypted")
                or path[-2:] == ("thinking", "content")
            ):
                continue  # written in another spelling, or by what the row is; other tests look at those
            assert leaf in (None, "", [], {}, False) or dump(leaf)[1:-1] in there, path


@draws(150)
@given(sessions().map(foreign))
def test_no_thinking_that_is_signed_or_encrypted_goes_over(session):
    """Nor its text: it opens only where it came from."""
    sealed = [
        item["text"]
        for message in session.messages
        for item in (message.get("thinking") or {}).get("items", ())
        if (item.get("signature") or item.get("data")) and len(item.get("text", "")) > 4
    ]
    thoughts = dump([row["reasoning"] for row in rows_of(write(session, NOW))])
    open_too = dump([item for m in session.messages for item in (m.get("thinking") or {}).get("items", ()) if "data" not in item])
    assert [text for text in sealed if dump(text)[1:-1] in thoughts and dump(text)[1:-1] not in open_too] == []
    assert all(row["reasoning_details"] is None and row["codex_reasoning_items"] is None for row in rows_of(write(session, NOW)))


@draws(150)
@given(sessions().map(foreign))
def test_our_own_reader_reads_back_what_was_written(session):
    written = write(session, NOW)
    back = read_document(parse(dump(written.records[0])))
    live = live_rows(written)
    assert [message.body["role"] for message in back.messages] == [row["role"] for row in live]
    assert [message.body["content"] for message in back.messages] == [row["content"] for row in live]


# Exports of Hermes, with all that goes wrong in them.

_times = st.floats(0, 4e9) | st.integers(0, 2**31) | st.sampled_from([None, "x", -1, 1e300])
_calls = st.lists(
    st.fixed_dictionaries(
        {"function": st.fixed_dictionaries({"name": texts, "arguments": texts | values}) | values},
        optional={"id": texts, "call_id": texts, "type": st.just("function"), "extra_content": values},
    )
    | values,
    max_size=3,
)
_parts = st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, texts | st.just("x" * 99))
    | st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 80}, "extra": [1]})
    | values,
    max_size=3,
)
_content = texts | st.none() | _parts | values | st.just("x" * 99) | values.map(lambda value: "\0json:" + dump(value))
_details = st.none() | values | _parts.map(dump) | st.just('[{"type":"thinking","thinking":"t","signature":"s"}]')
_row = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "session_meta"]) | texts, "content": _content},
    optional={
        "id": st.integers(),
        "session_id": st.just("s") | texts,
        "tool_calls": _calls | _calls.map(dump) | values,
        "tool_call_id": texts | st.none(),
        "timestamp": _times,
        "finish_reason": st.sampled_from(["stop", "length", None, "tool_calls"]),
        "reasoning": texts | st.none() | values,
        "reasoning_content": texts | st.just("x" * 99),
        "reasoning_details": _details,
        "codex_reasoning_items": _details,
        "observed": st.integers(0, 1),
        "active": st.sampled_from([0, 1, None, True, False]),
        "compacted": st.sampled_from([0, 1, None]),
        "api_content": texts | st.none(),
        "column_of_next_year": values,
    },
)
_documents = st.fixed_dictionaries(
    {"id": st.just("s"), "source": st.just("cli"), "messages": st.lists(_row | values, max_size=6)},
    optional={
        "title": texts | st.none(),
        "model_config": values | st.sampled_from(['{"_branched_from": "p"}', '{"_delegate_from": "p"}']),
        "parent_session_id": texts | st.none(),
        "started_at": _times,
        "column_of_next_year": values,
    },
)
documents = shared(_documents.map(lambda document: parse(dump(document))))


def through_a_messages_file(session: Session) -> Session:
    return session_of(messages_reader.read(messages_writer.write(session, Target()).records))


@draws(150)
@given(documents)
def test_any_export_comes_home_as_it_was(document):
    for session in (session_of(read_document(document)), through_a_messages_file(session_of(read_document(document)))):
        written = write(session, Target())
        assert written.records == (document,)
        assert written.report["dropped"] == written.report["degraded"] == written.report["synthesised"] == []


@draws(150)
@given(documents)
def test_the_hub_takes_every_entry_of_any_export(document):
    conversion = read_document(document)
    assert len({entry.append_id for entry in conversion.entries}) == len(conversion.entries)
    for message in conversion.messages:
        check_message(parse_object(dump(message.body)))
    for batch in conversion.natives:
        native_body(dump(batch.body))
    assert conversion.report["counts"]["rows"]["found"] == len(document["messages"]) if document["messages"] else True


BY_OTHER_MEANS = ("active", "compacted", "session_id", "timestamp", "finish_reason", "observed", "codex_reasoning_items")


@draws(150)
@given(documents)
def test_every_leaf_of_a_live_row_that_counts_as_converted_is_in_its_message(document):
    """One row at a time, so that the report's paths are this row's."""
    for row in document["messages"]:
        conversion = read_document(document | {"messages": [row]})
        assert conversion.report["counts"]["fields"]["found"] == sum(1 for _ in leaves(row))
        told = {item["path"] for item in conversion.report["kept_native"]}
        for message in conversion.messages:
            body = {name: value for name, value in message.body.items() if name != "native"}
            there = dump([leaf for _, leaf in leaves(body)]) + dump(body["content"]) + dump(body.get("tool_calls"))
            for path, leaf in leaves(row):
                is_said = f"fields/{row['role']}.{path_name(path)}" not in told and isinstance(leaf, str) and leaf.strip()
                if (
                    is_said
                    and path[0] not in BY_OTHER_MEANS
                    and not (path[0] in JSON_TEXTS and len(path) == 1)
                    and path[-1] != "type"
                ):
                    assert spelled(leaf) in there.replace("\\\\", "\\"), path


JSON_TEXTS = ("content", "tool_calls", "reasoning_details")


def spelled(text: str) -> str:
    return dump(text)[1:-1].replace("\\\\", "\\")


@draws(150)
@given(documents)
def test_a_session_that_grows_appends_each_row_once(document):
    bodies: dict[str, str] = {}
    rows = document["messages"]
    for end in range(len(rows) + 1):
        for message in read_document(document | {"messages": rows[:end]}, is_final=False).messages:
            if "parent_id" not in message.body["metadata"]:
                assert bodies.setdefault(message.append_id, dump(message.body)) == dump(message.body)
    assert {message.append_id for message in read_document(document).messages} <= bodies.keys()


@draws(150)
@given(documents)
def test_an_import_elsewhere_changes_no_append_id(document):
    """New numbers, another session's id, the text that was sent: none of it is in a message."""
    rows = [
        row | {"id": Number(str(place)), "session_id": "t", "api_content": None} if isinstance(row, dict) else row
        for place, row in enumerate(document["messages"], 900)
    ]
    here, there = read_document(document), read_document(document | {"id": "t", "messages": rows})
    if here.version == there.version:
        assert [dump(message.body) for message in there.messages] == [dump(message.body) for message in here.messages]


def said(row: Any) -> str:
    """A row, less its number and its session."""
    return canonical({name: row[name] for name in row if name not in ("id", "session_id")} if isinstance(row, dict) else row)


@draws(150)
@given(documents, sessions().map(foreign))
def test_others_go_on_where_hermes_stopped_and_it_comes_home_whole(document, session):
    """Home rows first, as they were; then what others said."""
    began = session_of(read_document(document))
    written = write(Session(began.meta, (*began.entries, *session.messages)), NOW)
    alone = [said(row) for row in document["messages"]]
    there = [said(row) for row in rows_of(written)]
    if not any(item["path"] in ("rows/compacted", "rows/id") for item in written.report["warnings"]):
        assert [row for row in there if row in alone] == alone
    counts = written.report["counts"]
    assert counts.get("entries", {"found": 0})["found"] == len(began.messages) + len(session.messages)


@draws(60)
@given(st.lists(st.binary(max_size=80) | values.map(lambda value: dump(value).encode()), max_size=4))
def test_no_text_makes_the_reader_fail(lines):
    conversion = read(lines)
    assert conversion.entries
    assert set(SESSION_COLUMNS) > {"id"}


@draws(60)
@given(values | documents)
def test_no_value_makes_the_validator_fail(value):
    assert isinstance(problems([parse(dump(value))]), list)
