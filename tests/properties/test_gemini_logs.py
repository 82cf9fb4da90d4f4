"""Any log of Gemini CLI: it is counted whole, comes home as it was, and others can go on with it anywhere."""

from draws import draws
from gemini_logs import all_records, foreign, line_values, logs, records
from hypothesis import assume, given
from hypothesis import strategies as st
from jsons import values
from standard_sessions import marks_in, sessions

from adapters import registry
from adapters.gemini.reader import read
from adapters.gemini.records import read_file
from adapters.gemini.validator import problems
from adapters.gemini.writer import write
from adapters.leaves import leaves, path_name
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from eventstore.wire.codec import dump, parse, parse_object
from eventstore.wire.message import check_message
from eventstore.wire.requests import native_body

NOW = Target(now_ms=1_800_000_000_000, cwd="/work")


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
@given(records)
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


@draws(150)
@given(logs)
def test_a_session_that_grows_appends_each_message_once(lines):
    """What a follower has appended never has to change. The one document of older versions does not grow."""
    assume(len(lines) < 2 or not read_file(lines[:1]).is_document)
    bodies: dict[str, str] = {}
    for end in range(len(lines) + 1):
        for message in read(lines[:end], is_final=False).messages:
            assert bodies.setdefault(message.append_id, dump(message.body)) == dump(message.body)


@draws(150)
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


@draws(150)
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


@draws(150)
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
@given(st.lists(st.binary(max_size=60) | line_values.map(lambda value: dump(value).encode()) | values, max_size=4))
def test_no_value_makes_the_validator_fail(records):
    assert isinstance(problems(records), list)
