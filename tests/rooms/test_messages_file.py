"""A `messages` file: read and written again it is the same, whatever it holds."""

import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from jsons import objects, texts, values

from adapters import registry
from adapters.messages.reader import Reading, read
from adapters.messages.stream import Writing
from adapters.messages.validator import problems
from adapters.messages.writer import write
from adapters.session import Session, session_of
from adapters.target import Target, UnknownVersion
from eventstore.errors import InvalidJson
from eventstore.wire.codec import dump, parse, parse_object
from eventstore.wire.message import check_message

HEADER = b'{"type":"session","schema_version":1,"meta":{"title":"T"},"native":{"agent":"x"},"more":[1.10]}\n'
MESSAGES = [
    b'{"role":"user","append_id":"a","content":"\\ud800 \\u0000","future":1e400,"session_id":"s","seq":12345678901234567890}\n',
    b'{"role":"assistant","append_id":"b","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{"}}]}\n',
    b'{"agent":"hermes","version":"22","records":[{"x":1}],"append_id":"n"}\n',
    b'{"role":"tool","append_id":"d","tool_call_id":"c","content":""}\n',
]


def again(lines: list[bytes]) -> list[bytes]:
    return list(write(session_of(read(lines)), Target()).records)


def test_a_file_comes_back_as_it_was():
    assert [parse(line.decode()) for line in again([HEADER, *MESSAGES])] == [parse(line.decode()) for line in [HEADER, *MESSAGES]]
    assert again(again([HEADER, *MESSAGES])) == again([HEADER, *MESSAGES])


def test_lines_that_are_none_of_this_format_come_back_too_in_their_place():
    odd = [
        b'{"role":"tool"}\n',
        b"\n",
        b"{\xff\n",
        b"[1]\n",
        b'{"role":"user","schema_version":2}\n',
        b'{"what":1}\n',
        b'{"a":1,"a":2}\n',
    ]
    lines = [HEADER, *odd[:3], *MESSAGES, *odd[3:]]
    assert again(lines)[1:4] == odd[:3]
    assert again(lines)[8:] == odd[3:]
    report = read(lines).report
    assert report["counts"]["lines"] == {"found": 12, "converted": 5, "degraded": 0, "kept_native": 7, "dropped": 0}
    assert {"not UTF-8", "a blank line", "not a standard message", "a newer schema_version"} < {
        item["reason"] for item in report["kept_native"]
    }


def test_a_torn_last_line_is_named_and_waits_while_the_file_grows():
    torn = [HEADER, MESSAGES[0], MESSAGES[1][:50]]
    assert [item["reason"] for item in read(torn).report["kept_native"]] == ["the last line is torn: its end was not written"]
    assert again(torn)[-1] == MESSAGES[1][:50] + b"\n"
    growing = read(torn, is_final=False)
    assert (len(growing.entries), growing.held_records) == (1, 1)
    assert len(read([HEADER, MESSAGES[0], MESSAGES[1].rstrip(b"\n")]).messages) == 2


def test_an_append_id_that_is_missing_is_made_for_the_hub_and_left_out_on_the_way_back():
    lines = [HEADER, b'{"role":"user","content":"typed by hand"}\n']
    conversion = read(lines)
    assert conversion.messages[0].append_id.startswith("messages:2:")
    assert conversion.report["synthesised"][0]["path"] == "lines/append_id"
    assert again(lines) == [HEADER, lines[1]]


def test_windows_line_ends_and_a_byte_order_mark_change_nothing_but_a_warning():
    lines = [b"\xef\xbb\xbf" + HEADER, *MESSAGES]
    windows = read([line.replace(b"\n", b"\r\n") for line in lines])
    assert windows.entries == read([HEADER, *MESSAGES]).entries
    assert [item["path"] for item in windows.report["warnings"]] == ["file", "file"]


def test_it_is_known_by_its_header():
    found = registry.detect([HEADER, *MESSAGES])
    assert found is not None
    assert (found.agent, found.version) == ("messages", "1")
    assert registry.detect(MESSAGES) is None


def test_a_file_without_a_header_is_read_and_gets_one():
    assert [message.body["role"] for message in read(MESSAGES).messages] == ["user", "assistant", "tool"]
    assert problems(again(MESSAGES)) == []


def test_a_newer_header_is_kept_and_told():
    lines = [HEADER.replace(b'"schema_version":1', b'"schema_version":2'), MESSAGES[0]]
    assert again(lines) == [lines[0], again([HEADER, MESSAGES[0]])[1]]
    assert [item["path"] for item in read(lines).report["warnings"]] == ["lines/header"]


def test_a_version_that_nobody_knows_is_refused():
    with pytest.raises(UnknownVersion):
        write(Session({}, ()), Target(version="2"))


def test_what_is_no_sound_file_is_told():
    assert problems([HEADER, *MESSAGES]) == []
    assert [text.split(":")[0] for text in problems([MESSAGES[0], b"{", MESSAGES[0], MESSAGES[0].replace(b"future", b"past")])] == [
        "line 1",
        "line 2",
        "line 4",
    ]


parts = st.fixed_dictionaries({"type": texts, "text": texts})
messages = st.builds(
    lambda role, more, own: more | {"role": role} | ({"tool_call_id": "c"} if role == "tool" else {}) | own,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.dictionaries(texts, values, max_size=3),
    st.fixed_dictionaries(
        {}, optional={"content": st.none() | texts | st.lists(parts, max_size=2), "metadata": objects, "native": objects}
    ),
)
natives = st.builds(lambda agent, records: {"agent": agent, "records": records}, texts, st.lists(values, max_size=3))
garbage = st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b" ").replace(b"\r", b" "))
lines = st.lists((messages | natives | objects).map(lambda value: dump(value).encode()) | garbage, max_size=8)


@draws(300)
@given(objects, lines)
def test_any_file_comes_back_as_it_was(meta, lines):
    whole = [dump({"type": "session", "schema_version": 1, "meta": meta}).encode(), *lines]
    back = again([line + b"\n" for line in whole])
    assert list(map(value, back)) == list(map(value, whole))
    for message in read(whole).messages:
        check_message(parse_object(dump(message.body)))


def value(raw: bytes):
    try:
        return parse(raw.decode())
    except (UnicodeDecodeError, InvalidJson):
        return raw.rstrip(b"\n")


@draws(100)
@given(objects, lines)
def test_entry_by_entry_it_is_the_same_file_and_the_same_report(meta, lines):
    given = [dump({"type": "session", "schema_version": 1, "meta": meta}).encode(), *lines]
    whole, reading = read(given), Reading(iter(given))
    bodies = [(body, text) for body in session_of(whole).entries for text in ("", dump(body))]
    reading_entries = tuple(reading.entries())
    assert (reading_entries, reading.meta, reading.header, reading.report()) == (
        whole.entries,
        whole.meta,
        whole.header,
        whole.report,
    )
    written = write(session_of(whole), Target())
    for at in (0, 1):
        writing = Writing(reading.meta, reading.header)
        assert b"".join(writing.pieces(bodies[at::2])) == b"".join(written.records)
        assert writing.report() == written.report


def test_a_long_text_is_handed_on_in_pieces():
    body = {"role": "user", "content": "漢\ud800x" * 1_000_000}
    pieces = list(Writing({}).pieces([(body, "")]))
    assert max(map(len, pieces)) < 2 * 1024 * 1024
    assert b"".join(pieces) == b"".join(write(Session({}, (body,)), Target()).records)
