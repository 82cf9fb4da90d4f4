"""Any session of any agent, as a log of Gemini CLI: it is resumed, its model is sent all of it, nothing is lost unsaid."""

from typing import Any

from draws import draws
from gemini_logs import all_records, foreign
from hypothesis import given
from standard_sessions import MARK, marks_in, sessions

from adapters.gemini.log import fold
from adapters.gemini.reader import read
from adapters.gemini.records import BLANKS, read_file
from adapters.gemini.validator import problems
from adapters.gemini.writer import write
from adapters.leaves import leaves, path_name
from adapters.session import Session
from adapters.target import Target
from adapters.written import Written
from eventstore.errors import InvalidJson
from eventstore.wire.codec import dump, parse

Json = dict[str, Any]
NOW = Target(now_ms=1_800_000_000_000, cwd="/work")
SAID_NOTHING = ["nothing that was said: the session is not listed"]


def live_records(written: Written) -> list[Json]:
    """The records that the agent takes up, in their order."""
    return [live.record for live in fold(read_file(written.records).lines).live]


def calls_of(record: Json) -> list[Json]:
    return list(record.get("toolCalls", ()))


@draws(150)
@given(sessions().map(foreign))
def test_it_is_one_that_the_agent_finds_and_resumes(session):
    assert problems(write(session, NOW).records) in ([], SAID_NOTHING)


@draws(150)
@given(sessions().map(foreign))
def test_writing_again_gives_the_same_log(session):
    assert write(session, NOW) == write(session, NOW)
    assert write(session, NOW).session_id == write(session, Target(now_ms=NOW.now_ms + 1)).session_id


@draws(150)
@given(sessions().map(foreign))
def test_what_was_said_stands_in_the_same_order(session):
    """Texts in the order of the session; only results may move, right behind their calls."""
    there = [mark for record in all_records(write(session, NOW)) for mark in marks_in([record["content"], record.get("toolCalls")])]
    spoken = [mark for message in session.messages if message["role"] != "tool" for mark in marks_in(message.get("content"))]
    kept = list(dict.fromkeys(there))
    assert [mark for mark in kept if mark in set(spoken)] == [mark for mark in spoken if mark in set(kept)]


@draws(150)
@given(sessions().map(foreign))
def test_nothing_that_a_user_said_is_passed_over_on_resume(session):
    for record in live_records(write(session, NOW)):
        if record["type"] == "user":
            text = "".join(part.get("text", "[media]") for part in record["content"]).strip(BLANKS)
            assert text
            assert not text.startswith(("/", "?", "<session_context>", "<hook_context>"))


@draws(150)
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


@draws(150)
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


@draws(150)
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
    records = all_records(write(session, NOW))
    thoughts = dump([record.get("thoughts") for record in records])
    open_too = dump([item for m in session.messages for item in (m.get("thinking") or {}).get("items", ()) if "data" not in item])
    assert [text for text in sealed if dump(text)[1:-1] in thoughts and dump(text)[1:-1] not in open_too] == []
    assert "thoughtSignature" not in dump(records)


@draws(150)
@given(sessions().map(foreign))
def test_no_time_is_ahead_and_a_cost_is_counted_with_its_cache(session):
    for record in all_records(write(session, NOW)):
        assert record["timestamp"] <= "2027-01-15T08:00:00.000Z"
        if "tokens" in record:
            tokens = {name: count.as_int() for name, count in record["tokens"].items()}
            assert tokens["total"] == tokens["input"] + tokens["output"] + tokens["thoughts"]
            assert tokens["cached"] <= tokens["input"]


@draws(150)
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
