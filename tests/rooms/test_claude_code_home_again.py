"""Claude Code, home again: what came from it goes back as it was, line by line, whatever it went through meanwhile.

May differ: a byte order mark, CR LF for LF, a missing last line end, spaces between JSON tokens. None of them is part of what
a line says, and a `messages` file or a hub could not give them back.
"""

import json
from pathlib import Path

import pytest
from draws import draws
from hypothesis import given
from transcripts import transcripts

from adapters import line_blocks
from adapters.claude_code.reader import read
from adapters.claude_code.validator import problems
from adapters.claude_code.writer import write
from adapters.conversion import Json
from adapters.messages import reader as messages_reader
from adapters.messages import writer as messages_writer
from adapters.session import Session, session_of
from adapters.target import Target
from eventstore.errors import InvalidJson
from eventstore.wire.codec import dump, parse

SAMPLES = Path(__file__).parent.parent / "samples" / "claude_code"
NOW = Target(now_ms=1_800_000_000_000)


def sample(name: str) -> list[bytes]:
    return (SAMPLES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def through_a_messages_file(lines: list[bytes]) -> Session:
    file = messages_writer.write(session_of(read(lines)), Target())
    return session_of(messages_reader.read(file.records))


def through_a_hub(lines: list[bytes]) -> Session:
    """A hub gives each message back with its own fields beside, and the native records after them."""
    conversion = read(lines)
    said: list[Json] = [{"session_id": "ses_1", "seq": seq} | message.body for seq, message in enumerate(conversion.messages, 7)]
    said = [message | {"metadata": message["metadata"] | {"project": "p"}} for message in said]
    return Session(conversion.meta, tuple(parse(dump(entry)) for entry in [*said, *(batch.body for batch in conversion.natives)]))


def value(raw: bytes):
    """What must be equal of a line: its JSON value, numbers by spelling; what is no JSON, as bytes."""
    raw = raw.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").removesuffix(b"\r")
    try:
        return parse(raw.decode())
    except (UnicodeDecodeError, InvalidJson):
        return raw


def assert_home_again(lines: list[bytes], session: Session) -> None:
    written = write(session, NOW)
    assert list(map(value, written.records)) == list(map(value, lines))
    counts = written.report["counts"]
    assert counts.get("lines", {"found": 0, "converted": 0})["found"] == counts.get("lines", {"converted": 0})["converted"]
    assert (
        written.report["dropped"] == written.report["degraded"] == written.report["synthesised"] == written.report["warnings"] == []
    )


@pytest.fixture(scope="module")
def corpus_files(corpus: Path) -> dict[str, list[bytes]]:
    files = {path.name: path.read_bytes().splitlines(keepends=True) for path in sorted((corpus / "claude-code").rglob("*.jsonl"))}
    if not files:
        pytest.skip(f"no Claude Code transcripts in {corpus}")
    return files


def test_every_real_transcript_comes_home_from_a_messages_file(corpus_files):
    for lines in corpus_files.values():
        assert_home_again(lines, through_a_messages_file(lines))


def test_every_real_transcript_comes_home_from_a_hub(corpus_files):
    for lines in corpus_files.values():
        assert_home_again(lines, through_a_hub(lines))


def test_every_real_transcript_is_one_that_the_agent_would_resume(corpus_files):
    for name, lines in corpus_files.items():
        assert problems(lines) == [], name


@pytest.mark.parametrize("name", [path.stem for path in sorted(SAMPLES.glob("*.jsonl"))])
def test_every_sample_comes_home(name):
    assert_home_again(sample(name), through_a_messages_file(sample(name)))
    assert_home_again(sample(name), through_a_hub(sample(name)))


@draws(200)
@given(transcripts())
def test_any_transcript_comes_home(lines):
    assert_home_again(lines, through_a_messages_file(lines))
    assert_home_again(lines, through_a_hub(lines))


def test_what_stands_around_the_lines_is_not_kept():
    lines = [b"\xef\xbb\xbf" + sample("parallel")[0], *sample("parallel")[1:]]
    windows = [line.replace(b"\n", b"\r\n") for line in lines]
    assert_home_again(windows, through_a_messages_file(windows))
    assert write(through_a_messages_file(windows), NOW).records == write(through_a_messages_file(sample("parallel")), NOW).records


def test_it_goes_to_where_it_was_under_its_own_name():
    written = write(through_a_messages_file(sample("rewind")), NOW)
    assert written.session_id == "5e551017-0000-4000-8000-000000000001"
    assert written.path == "projects/-home-ann-relay/5e551017-0000-4000-8000-000000000001.jsonl"


def test_a_sub_agent_is_a_file_of_its_own_beside_its_session():
    written = write(through_a_messages_file(sample("blocks")), NOW, [through_a_messages_file(sample("agent-a1"))])
    (agent,) = written.subagents
    assert list(map(value, agent.records)) == list(map(value, sample("agent-a1")))
    assert agent.path == "projects/-home-ann-relay/5e551017-0000-4000-8000-000000000001/subagents/agent-a1.jsonl"
    assert agent.session_id == "agent-a1"


def test_a_block_that_was_sent_again_and_a_line_that_was_torn_are_there_once(monkeypatch):
    monkeypatch.setattr(line_blocks, "BLOCK_LINES", 4)
    lines = sample("oddities")
    steps = [read([*lines[:end], lines[end][:9]]) for end in range(len(lines))]
    entries: dict[str, Json] = {entry.append_id: entry.body for step in [*steps, read(lines)] for entry in step.entries}
    written = write(Session(read(lines).meta, tuple(entries.values())), NOW)
    assert list(map(value, written.records)) == list(map(value, lines))
    assert {item["path"] for item in written.report["dropped"]} == {"lines/outdated"}


def test_another_session_id_and_another_folder_change_these_fields_and_nothing_else():
    target = Target(session_id="0b0e5c1a-0000-4000-8000-000000000002", cwd="/srv/work", now_ms=NOW.now_ms)
    written = write(through_a_messages_file(sample("compaction")), target)
    assert written.path == "projects/-srv-work/0b0e5c1a-0000-4000-8000-000000000002.jsonl"
    for before, after in zip(sample("compaction"), written.records, strict=True):
        moved = json.loads(before) | {"sessionId": target.session_id, "cwd": "/srv/work"}
        assert json.loads(after) == moved
    assert {item["path"] for item in written.report["warnings"]} == {"lines/sessionId", "lines/cwd"}


def test_folders_beneath_the_old_one_move_along_and_others_stay():
    def line(uuid: str, parent: str | None, cwd: str) -> bytes:
        record = {"type": "user", "uuid": uuid, "parentUuid": parent, "cwd": cwd, "message": {"role": "user", "content": "x"}}
        return json.dumps(record).encode()

    lines = [line("a", None, "C:\\old"), line("b", "a", "C:\\old\\sub\\x"), line("c", "b", "C:\\older")]
    written = write(session_of(read(lines)), Target(cwd="/new"))
    assert [json.loads(record)["cwd"] for record in written.records] == ["/new", "/new/sub/x", "C:\\older"]


def test_a_message_that_was_edited_by_hand_is_told_and_its_record_goes_home():
    conversion = read(sample("rewind"))
    entries = [dict(entry.body) for entry in conversion.entries]
    entries[0]["content"] = "edited"
    entries[0]["metadata"] = entries[0]["metadata"] | {"pinned": True, "mine": 1}
    written = write(Session(conversion.meta, tuple(entries)), NOW)
    assert list(map(value, written.records)) == list(map(value, sample("rewind")))
    assert [item["path"] for item in written.report["dropped"]] == ["fields/user.content", "fields/user.metadata.mine"]


def test_a_message_whose_record_is_broken_is_converted_from_what_it_says():
    conversion = read(sample("rewind"))
    entries = [dict(entry.body) for entry in conversion.entries]
    for native in ({"record": 1, "line": 2}, {"record": {}, "said": [[["x"], ["y"]]], "line": 2}, {"line": -1}, {"raw": 5}, {}):
        entries[1]["native"] = {"agent": "claude-code", "version": "2.1.39"} | native
        written = write(Session(conversion.meta, tuple(entries)), NOW)
        assert "its record is not whole; written from what the message says" in {
            item["reason"] for item in written.report["warnings"]
        }
        assert entries[1]["content"] in b"".join(written.records).decode()


@pytest.mark.parametrize(
    "native",
    [
        {"raw": "no JSON"},
        {"raw": '"no object"'},
        {"record": {}, "said": [[[], ["content"]]]},
        {"record": {}, "said": [[["x"], [], "data"]]},
    ],
)
def test_a_message_whose_record_is_no_line_of_its_own_is_converted_from_what_it_says(native):
    conversion = read(sample("rewind"))
    entries = [dict(entry.body) for entry in conversion.entries]
    entries[1]["native"] = {"agent": "claude-code", "version": "2.1.39", "line": 2} | native
    written = write(Session(conversion.meta, tuple(entries)), NOW)
    assert entries[1]["content"] in b"".join(written.records).decode()
    assert "its record is not whole; written from what the message says" in {item["reason"] for item in written.report["warnings"]}


def test_a_fork_that_holds_no_progress_lines_is_still_one_chain():
    lines = sample("agent-a1")
    main = [line.replace(b'"isSidechain":true', b'"isSidechain":false') for line in lines]
    conversion = read(main)
    assert conversion.natives, "the sample no longer has a progress line in its chain"
    fork = Session(conversion.meta, tuple(message.body for message in conversion.messages))
    written = write(fork, NOW)
    assert problems(written.records) == []
    assert [message.native_id for message in read(written.records).messages] == [
        message.native_id for message in conversion.messages
    ]
    assert [item["path"] for item in written.report["warnings"]] == ["lines/parentUuid"]
