"""Any session of any agent, as a log of Gemini CLI: it is resumed, its model is sent all of it, nothing is lost unsaid."""

from typing import Any

from draws import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from jsons import texts, values
from standard_sessions import MARK, PNG, marks_in, sessions

from adapters import registry
from adapters.gemini.log import fold
from adapters.gemini.reader import read
from adapters.gemini.records import BLANKS, items_of, read_file
from adapters.gemini.validator import problems
from adapters.gemini.writer import write
from adapters.leaves import leaves, path_name
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from eventstore.errors import InvalidJson
from eventstore.wire.codec import dump, parse, parse_object
from eventstore.wire.message import check_message
from eventstore.wire.requests import native_body

Json = dict[str, Any]
NOW = Target(now_ms=1_800_000_000_000, cwd="/work")
SAID_NOTHING = ["nothing that was said: the session is not listed"]


def foreign(session: Session) -> Session:
    """As from an agent that is not Gemini CLI."""
    return Session(session.meta | {"agent_source": "other", "native_session_id": "s1"}, session.entries)


def live_records(written: Written) -> list[Json]:
    """The records that the agent takes up, in their order."""
    return [live.record for live in fold(read_file(written.records).lines).live]


def all_records(written: Written) -> list[Json]:
    """Every message record, dead ones too, in the order of the lines."""
    found: list[Json] = []
    for line in written.records:
        value = parse(line.decode())
        if isinstance(value, dict):
            found += items_of(value) if "$set" in value else [value] if "id" in value else []
    return found


def calls_of(record: Json) -> list[Json]:
    return list(record.get("toolCalls", ()))


@draws(120)
@given(sessions().map(foreign))
def test_it_is_one_that_the_agent_finds_and_resumes(session):
    assert problems(write(session, NOW).records) in ([], SAID_NOTHING)


@draws(40)
@given(sessions().map(foreign))
def test_writing_again_gives_the_same_log(session):
    assert write(session, NOW) == write(session, NOW)
    assert write(session, NOW).session_id == write(session, Target(now_ms=NOW.now_ms + 1)).session_id


@draws(80)
@given(sessions().map(foreign))
def test_what_was_said_stands_in_the_same_order(session):
    """Texts in the order of the session; only results may move, right behind their calls."""
    there = [mark for record in all_records(write(session, NOW)) for mark in marks_in([record["content"], record.get("toolCalls")])]
    spoken = [mark for message in session.messages if message["role"] != "tool" for mark in marks_in(message.get("content"))]
    kept = list(dict.fromkeys(there))
    assert [mark for mark in kept if mark in set(spoken)] == [mark for mark in spoken if mark in set(kept)]


@draws(80)
@given(sessions().map(foreign))
def test_nothing_that_a_user_said_is_passed_over_on_resume(session):
    for record in live_records(write(session, NOW)):
        if record["type"] == "user":
            text = "".join(part.get("text", "[media]") for part in record["content"]).strip(BLANKS)
            assert text
            assert not text.startswith(("/", "?", "<session_context>", "<hook_context>"))


@draws(80)
@given(sessions().map(foreign))
def test_each_call_has_its_result_under_its_own_id(session):
    ids = []
    for record in all_records(write(session, NOW)):
        for call in calls_of(record):
            response = call["result"][0]["functionResponse"]
            assert (response["id"], response["name"]) == (call["id"], call["name"])
            assert response["response"].keys() == ({"output"} if call["status"] == "success" else {"error"})
            assert sum("functionResponse" in part for part in call["result"]) == 1
            ids.append(call["id"])
    assert len(ids) == len(set(ids)) == sum(len(message.get("tool_calls", ())) for message in session.messages)


@draws(80)
@given(sessions().map(foreign))
def test_arguments_mean_what_they_meant(session):
    given_ = [call["function"]["arguments"] for message in session.messages for call in message.get("tool_calls", ())]
    written = [call["args"] for record in all_records(write(session, NOW)) for call in calls_of(record)]
    for text, args in zip(given_, written, strict=True):
        try:
            meant = parse(text)
        except InvalidJson:
            meant = None
        if not isinstance(meant, dict):
            assert args in ({"raw_arguments": text.replace("\ud800", "\ufffd")}, {})
        elif "\\ud" not in dump(meant):
            assert dump(args) == dump(meant)


@draws(80)
@given(sessions().map(foreign))
def test_no_line_of_it_is_cut_by_what_is_said(session):
    """Some readers of lines take every line separator of Unicode for an end."""
    for line in write(session, NOW).records:
        assert not set(line.decode().removesuffix("\n")) & set("\n\r\u2028\u2029")


def assert_every_leaf_is_there_or_told(session: Session, written: Written) -> None:
    counts = dict(written.report["counts"])
    counts.pop("messages")
    assert counts.get("fields", {"found": 0})["found"] == sum(1 for message in session.messages for _ in leaves(message))
    assert counts.get("entries", {"found": 0})["found"] == len(session.messages)
    for unit, of_unit in counts.items():
        assert of_unit["found"] == sum(of_unit.values()) - of_unit["found"], unit
    told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
    there = dump(all_records(written))
    for message in session.messages:
        for path, leaf in leaves(message):
            if isinstance(leaf, str) and (mark := MARK.search(leaf)) and mark.group() not in there:
                role = message["role"]
                assert {f"fields/{role}", f"fields/{role}.{path_name(path)}"} & told, path


@draws(150)
@given(sessions().map(foreign))
def test_every_leaf_is_in_the_log_or_in_the_report(session):
    assert_every_leaf_is_there_or_told(session, write(session, NOW))


BY_OTHER_MEANS = ("type", "append_id", "role", "status", "is_error", "encrypted", "created_at", "format", "arguments")


@draws(150)
@given(sessions().map(foreign))
def test_every_leaf_that_counts_as_converted_can_be_found(session):
    for message in session.messages:
        written = write(Session({"title": "T"}, (message,)), NOW)
        told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
        there = dump(all_records(written))
        for path, leaf in leaves(message):
            if told & {f"fields/{message['role']}.{path_name(path)}", f"fields/{message['role']}"}:
                continue
            if path[-1] in BY_OTHER_MEANS or path[:2] == ("metadata", "usage") or path[-2:] == ("thinking", "content"):
                continue  # written in another spelling, or by what the record is; other tests look at those
            text = leaf.partition(",")[2] if isinstance(leaf, str) and leaf.startswith("data:") else leaf
            assert text in (None, "", [], {}, False) or dump(text)[1:-1] in there, path


@draws(60)
@given(sessions().map(foreign))
def test_no_thinking_that_is_signed_or_encrypted_goes_over(session):
    """Nor its text: it opens only where it came from."""
    sealed = [
        item["text"]
        for message in session.messages
        for item in (message.get("thinking") or {}).get("items", ())
        if (item.get("signature") or item.get("data")) and len(item.get("text", "")) > 4
    ]
    records = all_records(write(session, NOW))
    thoughts = dump([record.get("thoughts") for record in records])
    open_too = dump([item for m in session.messages for item in (m.get("thinking") or {}).get("items", ()) if "data" not in item])
    assert [text for text in sealed if dump(text)[1:-1] in thoughts and dump(text)[1:-1] not in open_too] == []
    assert "thoughtSignature" not in dump(records)


@draws(60)
@given(sessions().map(foreign))
def test_no_time_is_ahead_and_a_cost_is_counted_with_its_cache(session):
    for record in all_records(write(session, NOW)):
        assert record["timestamp"] <= "2027-01-15T08:00:00.000Z"
        if "tokens" in record:
            tokens = {name: count.as_int() for name, count in record["tokens"].items()}
            assert tokens["total"] == tokens["input"] + tokens["output"] + tokens["thoughts"]
            assert tokens["cached"] <= tokens["input"]


@draws(60)
@given(sessions().map(foreign))
def test_our_own_reader_reads_back_what_was_written(session):
    written = write(session, NOW)
    back = [message.body for message in read(written.records).messages]
    live = live_records(written)
    assert [body["role"] for body in back if body["role"] != "tool"] == [
        "assistant" if record["type"] == "gemini" else "user" for record in live
    ]
    calls = [call["function"] for body in back for call in body.get("tool_calls", ())]
    assert calls == [{"name": call["name"], "arguments": dump(call["args"])} for record in live for call in calls_of(record)]
    assert len([body for body in back if body["role"] == "tool"]) == len(calls)


# Logs of Gemini CLI, with all that goes wrong in them.

_ids = st.sampled_from(["a", "b", "c", "d"]) | texts
_call_ids = st.sampled_from(["call_1", "call_2", "", "x"]) | texts
_names = st.sampled_from(["run_shell_command", "read_file"]) | texts
_signed = {"thoughtSignature": st.just("U0lH")}
_response = st.fixed_dictionaries(
    {"response": st.fixed_dictionaries({"output": texts | st.just("x" * 99)}) | st.fixed_dictionaries({"error": texts}) | values},
    optional={"id": _call_ids, "name": _names, "parts": values, "more": values},
)
_part = (
    st.builds(lambda text: {"text": text}, texts | st.just("x" * 99))
    | st.fixed_dictionaries({"text": texts, "thought": st.just(True) | values}, optional=_signed)
    | st.fixed_dictionaries(
        {"functionCall": st.fixed_dictionaries({"name": _names}, optional={"id": _call_ids, "args": values})}, optional=_signed
    )
    | st.fixed_dictionaries({"functionResponse": _response}, optional={"more": values})
    | st.just({"inlineData": {"mimeType": "image/png", "data": PNG}})
    | st.fixed_dictionaries({"inlineData": st.fixed_dictionaries({"mimeType": texts, "data": texts | values})})
    | st.just({"fileData": {"mimeType": "image/png", "fileUri": "https://example.org/a.png"}})
    | values
)
_content = st.lists(_part, max_size=4) | texts | _part
_calls = st.lists(
    st.fixed_dictionaries(
        {"id": _call_ids, "name": _names},
        optional={
            "args": st.dictionaries(texts, values, max_size=2) | values,
            "result": st.lists(_part, max_size=3) | texts | values | st.fixed_dictionaries({"functionResponse": _response}),
            "status": st.sampled_from(["success", "error", "cancelled"]) | values,
            "agentId": texts | st.just("agent-1"),
            "resultDisplay": values,
        },
    )
    | values,
    max_size=3,
)
_times = st.sampled_from(["2026-11-30T00:00:47.423Z", "now", ""])
_record = st.fixed_dictionaries(
    {"id": _ids, "type": st.sampled_from(["user", "gemini", "gemini", "info", "error", "odd"]), "content": _content},
    optional={
        "timestamp": _times | values,
        "thoughts": st.lists(st.fixed_dictionaries({"subject": texts, "description": texts}) | values, max_size=2) | values,
        "tokens": st.dictionaries(st.sampled_from(["input", "output", "cached", "thoughts", "total"]), st.integers(-1, 9)) | values,
        "model": st.just("gemini-2.5-flash") | values,
        "toolCalls": _calls | values,
        "field_of_next_year": values,
    },
)
_set = st.fixed_dictionaries(
    {}, optional={"messages": st.lists(_record | values, max_size=3) | values, "lastUpdated": _times, "summary": texts}
)
_header = st.fixed_dictionaries(
    {"sessionId": st.just("dde903a7-0f36-4107-ac37-842e268b9211"), "projectHash": st.just("fb08")},
    optional={
        "kind": st.sampled_from(["main", "subagent"]),
        "summary": texts,
        "messages": st.lists(_record, max_size=2),
        "directories": st.lists(texts),
    },
)
_line = (
    _record
    | _record
    | _header
    | st.fixed_dictionaries({"$set": _set | values}, optional={"more": values})
    | st.fixed_dictionaries({"$rewindTo": _ids})
    | values
)
logs = st.lists(_line.map(lambda value: dump(value).encode() + b"\n"), max_size=8)


def through_a_messages_file(session: Session) -> Session:
    return session_of(messages_reader.read(messages_writer.write(session, Target()).records))


def through_a_hub(lines: list[bytes]) -> Session:
    """A hub gives each message back with its own fields beside, and the native records after them."""
    conversion = read(lines)
    said = [
        {"session_id": "ses_1", "seq": seq} | message.body | {"metadata": message.body["metadata"] | {"project": "p"}}
        for seq, message in enumerate(conversion.messages, 7)
    ]
    return Session(conversion.meta, tuple(parse(dump(entry)) for entry in [*said, *(batch.body for batch in conversion.natives)]))


def spelled(lines: list[bytes]) -> list[str]:
    return [dump(parse(line.decode())) for line in lines]


@draws(200)
@given(logs)
def test_any_log_comes_home_as_it_was(lines):
    for session in (session_of(read(lines)), through_a_messages_file(session_of(read(lines))), through_a_hub(lines)):
        written = write(session, Target())
        if lines:
            assert spelled(list(written.records)) == spelled(lines)
        for kind in ("dropped", "degraded", "synthesised", "warnings"):
            assert [item for item in written.report[kind] if lines] == []


@draws(200)
@given(logs)
def test_the_hub_takes_every_entry_of_any_log(lines):
    conversion = read(lines)
    assert len({entry.append_id for entry in conversion.entries}) == len(conversion.entries)
    for message in conversion.messages:
        check_message(parse_object(dump(message.body)))
    for batch in conversion.natives:
        native_body(dump(batch.body))


@draws(200)
@given(logs)
def test_every_leaf_of_any_log_is_counted(lines):
    counts = read(lines).report["counts"]
    assert counts.get("fields", {"found": 0})["found"] == sum(1 for line in lines for _ in leaves(parse(line.decode())))
    assert counts.get("lines", {"found": 0})["found"] == len(lines)


SAID_OTHERWISE = ("id", "type", "status", "thought", "name", "timestamp")


@draws(250)
@given(_record)
def test_every_leaf_of_a_record_that_counts_as_converted_is_in_its_messages(record):
    """One record, so that the report's paths are this record's."""
    record = parse(dump(record))
    conversion = read([dump(record).encode()])
    told = {item["path"] for item in conversion.report["kept_native"]}
    there = dump([message.body | {"native": None} for message in conversion.messages]).replace("\\\\", "\\")
    for path, leaf in leaves(record):
        kind = record["type"]
        if {f"fields/{kind}.{path_name(path)}", f"fields/{kind}"} & told or path[-1] in SAID_OTHERWISE or path[0] == "tokens":
            continue
        if isinstance(leaf, str) and leaf.strip():
            assert dump(leaf)[1:-1].replace("\\\\", "\\") in there, path


@draws(120)
@given(logs)
def test_a_session_that_grows_appends_each_message_once(lines):
    """What a follower has appended never has to change. The one document of older versions does not grow."""
    assume(len(lines) < 2 or not read_file(lines[:1]).is_document)
    bodies: dict[str, str] = {}
    for end in range(len(lines) + 1):
        for message in read(lines[:end], is_final=False).messages:
            assert bodies.setdefault(message.append_id, dump(message.body)) == dump(message.body)


@draws(60)
@given(logs, sessions().map(foreign))
def test_others_go_on_where_gemini_stopped_and_it_comes_home_whole(lines, session):
    """Home lines first, as they were; then what others said, as live as it was."""
    began = session_of(read(lines))
    written = write(Session(began.meta, (*began.entries, *session.messages)), Target(now_ms=NOW.now_ms))
    home = spelled(lines)
    assert [line for line in spelled(list(written.records)) if line in home][: len(home)] == home
    counts = written.report["counts"]
    assert counts.get("entries", {"found": 0})["found"] == len(began.messages) + len(session.messages)
    assert_marks_are_live_or_told(session, written)


@draws(60)
@given(logs, sessions().map(foreign))
def test_what_others_said_between_stands_between(lines, session):
    began = session_of(read(lines))
    half = len(began.messages) // 2
    entries = (*began.messages[:half], *session.messages, *began.messages[half:], *began.natives)
    written = write(Session(began.meta, entries), NOW)
    assert_marks_are_live_or_told(session, written)


def assert_marks_are_live_or_told(session: Session, written: Written) -> None:
    there = list(dict.fromkeys(mark for record in all_records(written) for mark in marks_in(record)))
    spoken = [mark for message in session.messages if message["role"] != "tool" for mark in marks_in(message.get("content"))]
    assert [mark for mark in there if mark in set(spoken)] == [mark for mark in spoken if mark in set(there)]


@draws(40)
@given(logs)
def test_every_other_agent_takes_any_log(lines):
    session = session_of(read(lines))
    for agent in sorted(set(registry.WRITERS) - {"gemini"}):
        written = registry.WRITERS[agent].write(session, NOW)
        found = registry.WRITERS[agent].problems(written.records)
        nothing_said = [problem for problem in found if "nothing was said" in problem or "no live rows" in problem]
        assert found == nothing_said, agent


@draws(60)
@given(st.lists(st.binary(max_size=80) | values.map(lambda value: dump(value).encode()), max_size=4))
def test_no_bytes_make_the_reader_fail(lines):
    conversion = read(lines)
    assert bool(conversion.entries) == bool(lines)


@draws(60)
@given(st.lists(st.binary(max_size=60) | _line.map(lambda value: dump(value).encode()) | values, max_size=4))
def test_no_value_makes_the_validator_fail(records):
    assert isinstance(problems(records), list)
