"""Any session of any agent, as a Claude Code transcript: it can be resumed, nothing changes its order, nothing is lost unsaid."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from standard_sessions import MARK, marks_in, sessions
from transcripts import transcripts

from adapters.claude_code.chain import moment_ms
from adapters.claude_code.reader import read
from adapters.claude_code.validator import problems
from adapters.claude_code.writer import write
from adapters.leaves import leaves, path_name
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from eventstore.wire.codec import Number, dump, parse

NOW = Target(now_ms=1_800_000_000_000, cwd="/work")


def values_of(written: Written) -> list[dict[str, Any]]:
    return [parse(line.decode()) for line in written.records]


def sound(written: Written) -> bool:
    """Would the agent resume it? A session in which nothing was said is no session."""
    return problems(written.records) in ([], ["nothing was said, so the session is not listed"])


@draws(300)
@given(sessions())
def test_it_is_one_that_the_agent_would_resume(session):
    assert sound(write(session, NOW)), problems(write(session, NOW).records)


@draws(150)
@given(sessions())
def test_writing_again_gives_the_same_lines(session):
    assert write(session, NOW) == write(session, NOW)
    later = write(session, Target(now_ms=NOW.now_ms + 1, cwd="/work"))
    assert [line.get("uuid") for line in values_of(later)] == [line.get("uuid") for line in values_of(write(session, NOW))]


@draws(300)
@given(sessions())
def test_what_was_said_stands_in_the_same_order(session):
    """Texts and calls in the order of the session; only results may move, right behind their calls."""
    written = write(session, NOW)
    there = [mark for line in values_of(written) if "uuid" in line for mark in marks_in(line)]
    spoken = [mark for message in session.messages if message["role"] != "tool" for mark in marks_in(message)]
    results = {mark for message in session.messages if message["role"] == "tool" for mark in marks_in(message)}
    assert len(there) == len(set(there))
    assert [mark for mark in there if mark not in results] == [mark for mark in spoken if mark in set(there)]


@draws(300)
@given(sessions())
def test_times_never_go_back_and_never_ahead(session):
    times = [moment_ms(line["timestamp"]) or 0 for line in values_of(write(session, NOW)) if "timestamp" in line]
    assert times == sorted(times)
    assert all(time <= NOW.now_ms for time in times)


def assert_every_leaf_is_there_or_told(session: Session, written: Written) -> None:
    found = sum(1 for message in session.messages for _ in leaves(message))
    counts = dict(written.report["counts"])
    assert sum(counts.pop("messages").values()) == counts.get("entries", {}).get("found", 0) - counts.get("entries", {}).get(
        "dropped", 0
    )
    assert counts.get("fields", {"found": 0})["found"] == found
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


@draws(500)
@given(sessions())
def test_every_leaf_is_in_the_transcript_or_in_the_report(session):
    assert_every_leaf_is_there_or_told(session, write(session, NOW))


@draws(300)
@given(sessions())
def test_every_leaf_that_counts_as_converted_can_be_found(session):
    """One message at a time, so that the report's paths are this message's: what no item names must stand in the lines."""
    for message in session.messages:
        written = write(Session({"title": "T"}, (message,)), NOW)
        told = {item["path"] for kind in ("dropped", "degraded", "kept_native") for item in written.report[kind]}
        there = {dump(leaf) for line in values_of(written) for _, leaf in leaves(line)}
        for path, leaf in leaves(message):
            name = f"fields/{message['role']}.{path_name(path)}"
            if told & {name, f"fields/{message['role']}"} or path[0] in ("append_id", "created_at", "role"):
                continue
            if path[-1] in ("arguments", "reply_id", "type", "status", "file_data") or path[-2:] == ("image_url", "url"):
                continue  # written in another spelling; other tests look at those
            assert leaf in (None, "", [], {}, False) or dump(leaf) in there, path


@draws(200)
@given(sessions())
def test_our_own_reader_reads_back_what_was_written(session):
    written = write(session, NOW)
    back = read(written.records)
    lines = [line for line in values_of(written) if line.get("type") in ("user", "assistant")]
    compactions = [index for index, line in enumerate(lines) if line.get("isCompactSummary")]
    live = lines[compactions[-1] :] if compactions else lines
    assert [message.native_id for message in back.messages] == [line["uuid"] for line in live]
    calls = Counter(call["id"] for message in back.messages for call in message.body.get("tool_calls", ()))
    assert calls == Counter(message.body["tool_call_id"] for message in back.messages if message.body["role"] == "tool")


@draws(200)
@given(sessions(), transcripts(), st.booleans())
def test_others_go_on_where_the_agent_stopped_and_it_comes_home_whole(session, lines, has_natives_last):
    """Home records first, as they were; then what others said, in one chain from the live end."""
    began = session_of(read(lines))
    entries = (*began.messages, *session.messages, *began.natives) if has_natives_last else (*began.entries, *session.entries)
    written = write(Session(began.meta, entries), NOW)
    alone = write(began, NOW)
    assert written.records[: len(lines)] == alone.records
    added = [parse(line.decode()) for line in written.records[len(lines) :]]
    chained = [line for line in added if "uuid" in line]
    for line, parent in zip(chained[1:], chained, strict=False):
        assert line["parentUuid"] == (None if line["type"] == "system" else parent["uuid"])
    if chained and not any(line["type"] == "system" for line in chained):
        before, after = ([message.native_id for message in read(file.records).messages] for file in (alone, written))
        assert after == [*before, *(line["uuid"] for line in chained)]


# --- the reader: every leaf of a transcript is in a message, or in the native records and the report


def names_of(record: dict[str, Any], path: tuple[Any, ...]) -> list[str]:
    """How the report may call the field that a leaf of a live line stands in."""
    kind = record["type"]
    if path[:2] != ("message", "content"):
        return [f"fields/{kind}.{'.'.join(map(str, path[:depth]))}" for depth in range(1, len(path) + 1)]
    block, outer = record["message"]["content"], ""
    names = [f"blocks/{kind}.text", f"blocks/{kind}.content"]
    for depth, step in enumerate(path[2:], 3):
        if not isinstance(block, list | dict):
            break
        block = block[step]
        if isinstance(step, int):
            name = block.get("type") if isinstance(block, dict) else None
            outer += f".{name}" if isinstance(name, str) else ".?"
            names.append(f"blocks/{kind}{outer}")
        else:
            names.append(f"fields/{kind}{outer}.{step}")
            if step != "content":
                break
            names += [f"blocks/{kind}{outer}.text", f"blocks/{kind}{outer}.content"]
        assert depth
    return names


def assert_the_reader_tells_every_leaf(lines: list[bytes]) -> None:
    conversion = read(lines)
    told = {item["path"] for kind in ("dropped", "degraded", "kept_native", "synthesised") for item in conversion.report[kind]}
    live: dict[int, str] = {}
    for message in conversion.messages:
        body = {key: value for key, value in message.body.items() if key != "native"}
        live[message.line] = live.get(message.line, dump(conversion.meta) + str(message.body["native"]["version"])) + dump(body)
    kept = {number for batch in conversion.natives for number in batch.lines}
    assert kept | live.keys() == set(range(1, len(lines) + 1))
    assert not kept & live.keys()
    for number, said in live.items():
        record = parse(lines[number - 1].decode()) if number not in raw_lines(conversion) else {}
        for path, leaf in leaves(record):
            if (
                path[-1] not in ("type", "role")
                and is_telling(leaf)
                and spelled(leaf) not in said
                and dump(spelled(leaf))[1:-1] not in said
            ):
                assert told & set(names_of(record, path)), (number, path)


def raw_lines(conversion: Any) -> set[int]:
    """Lines that are kept as text, because their value is not all they say."""
    return {message.line for message in conversion.messages if "raw" in message.body["native"]}


def is_telling(leaf: Any) -> bool:
    return isinstance(leaf, Number) or (isinstance(leaf, str) and len(leaf) > 1)


def spelled(leaf: Any) -> str:
    return leaf.text if isinstance(leaf, Number) else dump(leaf)[1:-1]


def test_every_leaf_of_a_real_transcript_is_in_a_message_or_in_the_report(corpus: Path):
    files = sorted((corpus / "claude-code").rglob("*.jsonl"))
    if not files:
        pytest.skip(f"no Claude Code transcripts in {corpus}")
    for path in files:
        lines = path.read_bytes().splitlines(keepends=True)
        assert_the_reader_tells_every_leaf(lines)
        session = session_of(read(lines))
        away = [{key: value for key, value in message.items() if key != "native"} for message in session.messages]
        as_if_foreign = Session(session.meta | {"agent_source": "other"}, tuple(away))
        written = write(as_if_foreign, NOW)
        assert_every_leaf_is_there_or_told(as_if_foreign, written)
        assert problems(written.records) == []


@draws(200)
@given(transcripts())
def test_every_leaf_of_any_transcript_is_in_a_message_or_in_the_report(lines):
    assert_the_reader_tells_every_leaf(lines)
