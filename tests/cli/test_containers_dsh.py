"""Logs of DeepSeek Harness on disk: plain, in frames, torn, in a store; converted both ways; put in a store only when sound."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from adapters.dsh.writer import write
from adapters.session import Session
from adapters.target import Target
from adapters.written import Written
from cli.containers_dsh import frame_problems, logs_in, read_lines, write_log
from cli.containers_sqlite import UnreadableContainer
from cli.install_dsh import LOCK, DshStore
from cli.install_store import NotInstalled, SessionInTheWay, StoreHeld
from cli.source import Source
from cli.stores import all_sources, load, of_file, source_of, subagents_of
from cli.zstd_frames import frames, pack
from eventstore.errors import StoreError
from eventstore.wire.codec import parse

NOW = Target(now_ms=1_800_000_000_000, cwd="/work")


def session(text: str = "go", **meta) -> Session:
    said = ({"role": "user", "append_id": "m0", "content": text}, {"role": "assistant", "append_id": "m1", "content": f"{text}!"})
    return Session({"agent_source": "other", "native_session_id": text, **meta}, said)


def lines(text: str = "go") -> list[bytes]:
    return list(write(session(text), NOW).records)


def convert(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "cli.main", "convert", *map(str, arguments)], capture_output=True, text=True)


def test_the_header_has_a_frame_of_its_own(tmp_path: Path):
    path = tmp_path / "session.v4.jsonl.zstd"
    write_log(path, lines())
    contents = [frame.content for frame in frames(path.read_bytes())]
    assert contents == [lines()[0], b"".join(lines()[1:])]
    assert read_lines(path) == lines()
    assert frame_problems(path.read_bytes()) == []


def test_what_is_appended_is_one_more_frame_and_all_of_them_are_read(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(pack(lines()) + pack([b'{"torn'])[:-3])
    assert read_lines(path)[: len(lines())] == lines()
    assert frame_problems(path.read_bytes()) == ["a torn frame at the end"]


def test_that_the_end_of_a_log_is_torn_is_told(tmp_path: Path):
    path = tmp_path / "log.zstd"
    path.write_bytes(pack([lines()[0], lines()[1], b"".join(lines()[2:])])[:-3])
    told = load(of_file(path)).conversion.report["warnings"]
    assert any("torn frame" in item["reason"] for item in told)
    path.write_bytes(pack([lines()[0], b"".join(lines()[1:])]))
    assert load(of_file(path)).conversion.report["warnings"] == []


def test_one_frame_for_all_is_what_the_agent_refuses():
    assert frame_problems(zstandard.ZstdCompressor().compress(b"".join(lines()))) == [
        "the first frame is not exactly one header line"
    ]
    assert frame_problems(b"") == ["the first frame is not exactly one header line"]


def test_a_bomb_and_a_broken_frame_are_told():
    (bomb,) = frames(pack([b"x" * 5_000_000]), bytes_max=1_000_000)
    assert (bomb.content, "unpacks to more" in bomb.problem) == (b"", True)
    raw = bytearray(pack([b"x" * 100, b"y" * 100]))
    raw[-1] ^= 0xFF
    *_, last = frames(bytes(raw))
    assert "broken" in last.problem


def test_a_file_that_is_no_log_is_a_clear_refusal(tmp_path: Path):
    (tmp_path / "x").write_bytes(b"\x28\xb5\x2f\xfd nothing")
    with pytest.raises(UnreadableContainer):
        read_lines(tmp_path / "x")
    done = convert("--to", "messages", tmp_path / "x", tmp_path / "out.jsonl")
    assert (done.returncode, "Traceback" in done.stderr, "unreadable_container" in done.stderr) == (1, False, True)


@pytest.mark.parametrize("name", ["out.jsonl", "out.session.v4.jsonl.zstd", "out.jsonl.zst"])
def test_the_suffix_chooses_the_container_and_it_comes_home(tmp_path: Path, name: str):
    sample = next(Path("tests/samples/claude_code").glob("parallel.jsonl"))
    there = convert("--to", "dsh", "--cwd", "/work", sample, tmp_path / name)
    assert there.returncode == 0, there.stderr
    is_packed = (tmp_path / name).read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    assert is_packed == (not name.endswith(".jsonl"))
    for target, other in (("messages", "m.jsonl"), ("claude-code", "c.jsonl"), ("hermes", "h.jsonl"), ("opencode", "o.json")):
        done = convert("--to", target, tmp_path / name, tmp_path / other)
        assert done.returncode == 0, done.stderr
    assert convert("--to", "dsh", tmp_path / "m.jsonl", tmp_path / "back.jsonl").returncode == 0
    assert read_lines(tmp_path / "back.jsonl") == read_lines(tmp_path / name)


def test_every_corpus_file_comes_home_as_it_was(corpus: Path, tmp_path: Path):
    for path in sorted((corpus / "dsh").iterdir()):
        out = tmp_path / path.name
        assert convert("--to", "messages", path, tmp_path / "m.jsonl", "--no-redact").returncode == 0, path.name
        done = convert("--to", "dsh", tmp_path / "m.jsonl", out, "--no-redact", "--strict")
        assert done.returncode == 0, done.stderr
        assert [parse(line.decode()) for line in read_lines(out)] == [parse(line.decode()) for line in read_lines(path)], path.name
        assert frame_problems(out.read_bytes()) == [] or not path.name.endswith(".zstd")


def test_an_old_log_is_written_in_the_format_that_the_name_asks_for(corpus: Path, tmp_path: Path):
    for path in sorted((corpus / "dsh").glob("*-session.jsonl")):
        done = convert("--to", "dsh", "--cwd", "/work", path, tmp_path / "session.v4.jsonl.zstd")
        assert done.returncode == 0, done.stderr
        assert json.loads(read_lines(tmp_path / "session.v4.jsonl.zstd")[0])["version"] == 4


# In a store.


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DSH_HOME", str(tmp_path / "dsh"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes"))
    return tmp_path / "dsh"


def install(written: Written, folder: Path) -> Path:
    """Put a session and those of its sub-agents in a store; return the place of its log."""
    with DshStore(folder).held(is_to_write=True) as hold:
        plan = hold.plan(written)
        hold.put(plan, None)
    assert DshStore(folder).read_back(plan.names) == plan.meant
    return folder / plan.names[0]


def test_a_session_is_put_where_its_header_tells_and_found_by_its_id(store: Path):
    written = write(session(), NOW)
    path = install(written, store)
    assert path == store / written.path
    assert read_lines(path) == list(written.records)
    found = source_of(written.session_id, None)
    assert (found.agent, found.path) == ("dsh", path)
    assert load(found).native_id == written.session_id
    assert list(all_sources("dsh")) == [found]


def test_a_session_that_is_there_is_not_written_over(store: Path):
    install(write(session(), NOW), store)
    with pytest.raises(SessionInTheWay):
        install(write(session(), NOW), store)


def test_one_that_stands_for_another_directory_or_in_an_older_format_is_in_the_way(store: Path):
    path = install(write(session(), NOW), store)
    with pytest.raises(SessionInTheWay):
        install(write(session(), Target(now_ms=NOW.now_ms, cwd="/play")), store)
    path.rename(path.with_name("session.jsonl.zstd"))
    with pytest.raises(SessionInTheWay):
        install(write(session(), NOW), store)


def test_a_session_that_the_agent_has_open_is_left_alone(store: Path):
    fcntl = pytest.importorskip("fcntl")
    written = write(session(), NOW)
    lock = (store / written.path).parent / LOCK
    lock.parent.mkdir(parents=True)
    with lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreHeld):
            install(written, store)
    assert install(written, store).is_file()


def test_what_the_agent_would_refuse_never_reaches_its_store(store: Path):
    written = write(session(), NOW)
    broken = type(written)(
        written.agent, written.version, written.session_id, written.records[:2] + written.records[3:], written.report, written.path
    )
    elsewhere = type(written)(
        written.agent, written.version, written.session_id, written.records, written.report, written.path.replace("work", "play")
    )
    for one in (broken, elsewhere):
        with pytest.raises(NotInstalled):
            install(one, store)
    assert not store.exists()


def test_a_plain_store_gets_a_plain_log(store: Path):
    written = write(session("first"), NOW)
    plain = store / written.path.removesuffix(".zstd")
    plain.parent.mkdir(parents=True)
    plain.write_bytes(b"".join(written.records))
    assert install(write(session("second"), NOW), store).name == "session.v4.jsonl"


def test_sub_agents_are_found_below_their_session(store: Path):
    child = session("task", subagent={"agent_id": "a1"})
    written = write(session(), NOW, [child])
    install(written, store)
    (found,) = list(all_sources("dsh"))
    assert isinstance(found, Source)
    (below,) = subagents_of(found, written.session_id)
    assert below.is_subagent
    assert load(below).parent_id == written.session_id


def test_one_log_that_cannot_be_read_spoils_no_other(store: Path):
    install(write(session(), NOW), store)
    bad = store / "sessions" / "--x--" / "y" / "session.v4.jsonl.zstd"
    bad.parent.mkdir(parents=True)
    bad.write_bytes(b"\x28\xb5\x2f\xfd")
    assert [bool(listed.problem) for listed in logs_in(store)] == [False, True]
    found = list(all_sources("dsh"))
    assert sorted(isinstance(one, StoreError) for one in found) == [False, True]
