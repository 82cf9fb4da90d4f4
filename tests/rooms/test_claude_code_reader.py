"""A transcript as a whole: nothing is lost, the sums add up, and growth changes nothing that was appended."""

import json
from base64 import b64decode
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcripts import transcripts

from adapters import line_blocks, registry
from adapters.claude_code.reader import Reading, read
from adapters.conversion import Conversion
from adapters.said import lay
from eventstore.errors import InvalidJson
from eventstore.wire.codec import dump, parse

SAMPLES = Path(__file__).parent.parent / "samples" / "claude_code"
NAMES = [path.stem for path in sorted(SAMPLES.glob("*.jsonl"))]


def sample(name: str) -> list[bytes]:
    return (SAMPLES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def home(conversion: Conversion) -> dict[int, bytes]:
    """Every line as it can be told from what went to the hub, by number. Fails when one is there twice."""
    lines: dict[int, bytes] = {}
    for message in conversion.messages:
        native = parse(dump(message.body["native"]))
        if "part" in native:
            continue
        assert message.line not in lines
        text = native["raw"] if "raw" in native else dump(lay(native["record"], message.body, native.get("said", [])))
        lines[message.line] = text.encode()
    for batch in conversion.natives:
        for record in parse(dump(batch.body["records"])):
            number = record["line"].as_int()
            assert number not in lines
            if "base64" in record:
                lines[number] = b64decode(record["base64"])
            else:
                lines[number] = (record["raw"] if "raw" in record else dump(record["record"])).encode()
    return lines


def assert_home_again(lines: list[bytes], conversion: Conversion) -> None:
    """Each line comes back once: as the same JSON value, numbers by spelling; what is no JSON, as the same bytes."""
    back = home(conversion)
    assert sorted(back) == list(range(1, len(lines) + 1))
    for number, raw in enumerate(lines, start=1):
        raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        assert value(back[number]) == value(raw.removesuffix(b"\n").removesuffix(b"\r"))


def value(raw: bytes):
    try:
        return parse(raw.decode())
    except (UnicodeDecodeError, InvalidJson):
        return raw


def assert_sums(conversion: Conversion, lines: int) -> None:
    counts = dict(conversion.report["counts"])
    messages = counts.pop("messages")
    assert messages == Counter(message.body["role"] for message in conversion.messages)
    assert counts.get("lines", {"found": 0})["found"] == lines
    for unit, of_unit in counts.items():
        assert of_unit["found"] == sum(of_unit.values()) - of_unit["found"], unit


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_a_sample_comes_back_and_is_counted(name):
    conversion = read(sample(name))
    assert_home_again(sample(name), conversion)
    assert_sums(conversion, len(sample(name)))


def test_what_cannot_be_read_is_kept_and_named_with_its_line():
    warnings = {item["reason"]: item["example"] for item in read(sample("oddities")).report["warnings"]}
    assert warnings["not JSON"] == "line 3"
    assert warnings["a blank line"] == "line 4"
    assert warnings["JSON, but no object"] == "line 5"
    assert warnings["the last line is torn: its end was not written"] == "line 12"
    assert any("typed while the agent worked" in reason for reason in warnings)
    assert warnings["the call has no result on the live branch"] == "line 7"


def test_an_unknown_type_is_kept_and_counted():
    kept = {item["path"]: item for item in read(sample("oddities")).report["kept_native"]}
    assert kept["lines/hologram"]["reason"] == "unknown record type"
    assert kept["lines/assistant"]["reason"] == "a message line without a uuid stands in no branch"


def test_numbers_surrogates_and_nul_survive():
    first, twice, call, *_ = (message.body for message in read(sample("oddities")).messages)
    assert first["content"].startswith("A lone \ud800 and a \0, 漢字")
    assert '"gitBranch": "other"' in twice["native"]["raw"], "a key twice cannot be kept as a value"
    arguments = call["tool_calls"][0]["function"]["arguments"]
    assert arguments == '{"n":12345678901234567890123,"pi":3.14159265358979323846,"big":[1e400,-0,1.10]}'


def test_a_record_nested_too_deep_for_the_hub_is_kept_as_text():
    deep = "[" * 126 + "]" * 126
    lines = [b'{"type":"user","uuid":"a","parentUuid":null,"message":{"content":"x"},"extra":%b}' % deep.encode()]
    lines += [b'{"type":"other","extra":%b}' % deep.encode(), b'{"extra":' + b"[" * 5000]
    conversion = read(lines)
    assert_home_again(lines, conversion)
    assert conversion.messages[0].body["content"] == "x"
    parse(dump([[entry.body for entry in conversion.entries]]))


def test_byte_order_mark_and_windows_line_ends_change_nothing_but_a_warning():
    plain = read(sample("parallel"))
    lines = [b"\xef\xbb\xbf" + sample("parallel")[0], *sample("parallel")[1:]]
    windows = read([line.replace(b"\n", b"\r\n") for line in lines])
    assert windows.entries == plain.entries
    assert [item["path"] for item in windows.report["warnings"]] == ["file", "file"]


def test_bytes_that_are_no_text_come_back_as_they_were():
    lines = [*sample("rewind"), b'{"type":"\xff\xfe"}\n', b"\0\0\0\0"]
    assert_home_again(lines, read(lines))


def test_meta_has_the_newest_title_and_the_first_folder():
    assert read(sample("rewind")).meta == {
        "title": "Colours",
        "agent_source": "claude-code",
        "agent_version": "2.1.39",
        "native_session_id": "5e551017-0000-4000-8000-000000000001",
        "cwd": "/home/ann/relay",
        "git_branch": "main",
    }
    assert read(sample("rewind")[1:-4]).meta["title"] == "Name a colour."


def test_an_unknown_major_version_is_read_with_a_warning():
    lines = [line.replace(b'"2.1.39"', b'"3.0.0"') for line in sample("parallel")]
    assert read(lines).report["warnings"][0]["example"] == "3.0.0"
    assert len(read(lines).messages) == 12


@pytest.mark.parametrize("name", NAMES)
def test_a_transcript_is_known_by_its_content(name):
    found = registry.detect(sample(name))
    assert found is not None
    assert (found.agent, found.version) == ("claude-code", "2.1.39")


def test_other_files_are_not_taken_for_transcripts():
    other = b'{"timestamp":"2026-01-01T00:00:00Z","type":"ping","payload":{"id":"x"}}\n'
    for lines in ([], [b"\n"], [b"# text\n"] * 9, [other] * 9, [b'{"role":"user","content":"x"}\n'] * 9):
        assert registry.detect(lines) is None


# --- growth


def ids(conversion: Conversion) -> dict[str, str]:
    """Append ids and bodies; one id always has one body, or the hub would refuse it."""
    return {entry.append_id: dump(entry.body) for entry in conversion.entries}


@pytest.mark.parametrize("name", ["parallel", "agent-a1", "oddities", "blocks"])
def test_a_session_pushed_line_by_line_is_appended_once_and_whole(name):
    appended: dict[str, str] = {}
    for end in range(len(sample(name)) + 1):
        for append_id, body in ids(read(sample(name)[:end], is_final=False)).items():
            assert appended.setdefault(append_id, body) == body
    whole = read(sample(name))
    assert {message.append_id for message in whole.messages} == set(appended)


def test_a_rewind_leaves_what_was_appended_and_tells_where_the_branch_left():
    before, after = read(sample("rewind")[:5]), read(sample("rewind"))
    gone = {message.native_id[-2:] for message in before.messages if message.native_id in after.off_branch}
    known = {message.append_id for message in before.messages}
    new = [message for message in after.messages if message.append_id not in known]
    assert gone == {"03", "04"}
    assert (new[0].parent_id or "")[-2:] == "02"


def test_a_compaction_is_no_rewind():
    before, after = read(sample("compaction")[:6]), read(sample("compaction"))
    assert {after.off_branch[message.native_id] for message in before.messages} == {"compacted"}


def test_a_torn_line_waits_while_the_session_runs_and_is_a_message_when_it_is_whole():
    lines = sample("parallel")
    torn = [*lines[:3], lines[3][:40]]
    assert read(torn, is_final=False).held_records == 2
    assert not read(torn, is_final=False).natives
    assert home(read(torn))[4] == lines[3][:40]
    assert len(read(lines[:4]).messages) == len(read(torn).messages) + 1


def test_blocks_of_native_records_keep_their_ids_when_the_file_grows(monkeypatch):
    monkeypatch.setattr(line_blocks, "BLOCK_LINES", 3)
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", 90)
    lines = [json.dumps({"type": "note", "n": n, "pad": "x" * (n % 7 * 9)}).encode() for n in range(40)]
    seen: dict[str, str] = {}
    for end in range(len(lines) + 1):
        conversion = read(lines[:end], is_final=False)
        assert conversion.held_records <= 3
        seen |= ids(conversion)
    assert set(seen) | set(ids(read(lines))) == set(ids(read(lines)))
    assert len(seen) == len(read(lines).natives) - 1
    assert_home_again(lines, read(lines))


@settings(max_examples=300, deadline=None)
@given(transcripts())
def test_any_transcript_comes_back_whole_and_adds_up(lines):
    conversion = read(lines)
    assert_home_again(lines, conversion)
    assert_sums(conversion, len(lines))
    for entry in conversion.entries:
        parse(dump(entry.body))
        assert 1 <= len(entry.append_id) <= 200


@settings(deadline=None)
@given(transcripts(), st.data())
def test_any_transcript_that_grows_keeps_every_message(lines, data):
    cut = data.draw(st.integers(0, len(lines)))
    early, late = read(lines[:cut], is_final=False), read(lines)
    later = ids(late)
    assert all(later[message.append_id] == dump(message.body) for message in early.messages)
    assert [m.append_id for m in late.messages][: len(early.messages)] == [m.append_id for m in early.messages]


# --- in passes


@settings(max_examples=100, deadline=None)
@given(transcripts())
def test_read_in_passes_it_says_the_same_as_read_at_once(lines):
    reading = Reading(lines)
    whole = read(lines)
    assert tuple(reading.entries()) == whole.entries
    assert (reading.meta, reading.report(), reading.off_branch()) == (whole.meta, whole.report, whole.off_branch)


def test_what_is_added_while_it_is_read_is_left_for_the_next_reading():
    lines = [*sample("parallel")[:5], sample("parallel")[5][:60]]
    reading = Reading(lines)
    before = read(lines)
    lines[5:] = sample("parallel")[5:]
    assert tuple(reading.entries()) == before.entries
    assert reading.report() == before.report
