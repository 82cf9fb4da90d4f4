"""Claude Code's own reader (claude-agent-sdk, from PyPI) lists and reads back in full what we write.

The package brings the whole command line program along (178 MB), so it is no development dependency: `make relay-test`
installs it into an environment of its own (its name keeps it out of `make test`). Nothing of Anthropic's program is started here.
"""

import json
from pathlib import Path

import pytest
from draws import draws
from hypothesis import given
from standard_sessions import sessions

from adapters.claude_code.names import project_key
from adapters.claude_code.reader import read
from adapters.claude_code.writer import write
from adapters.session import Session, session_of
from adapters.target import Target
from adapters.written import Written
from eventstore.wire.codec import canonical, parse

sdk = pytest.importorskip("claude_agent_sdk", reason="only with claude-agent-sdk: make relay-test")
SAMPLES = Path(__file__).parent.parent / "samples" / "claude_code"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    return tmp_path


def installed(home: Path, session: Session, subagents: tuple[Session, ...] = ()) -> Written:
    target = Target(cwd=str((home / "work").resolve()), now_ms=1_800_000_000_000)
    out = write(session, target, subagents)
    for each in (out, *out.subagents):
        path = home / "config" / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(each.records))
    return out


def live_lines(out: Written) -> list[str]:
    """The lines that a resumed session would read, by our own reader; meta lines are not shown by theirs."""
    by_uuid = {line["uuid"]: line for record in out.records if "uuid" in (line := parse(record.decode()))}
    shown = dict.fromkeys(message.native_id for message in read(out.records).messages)
    return [uuid for uuid in shown if not by_uuid[uuid].get("isMeta")]


def assert_their_reader_agrees(home: Path, out: Written) -> None:
    folder = str(home / "work")
    listed = {info.session_id: info for info in sdk.list_sessions(directory=folder)}
    assert out.session_id in listed
    assert listed[out.session_id].cwd == str((home / "work").resolve())
    theirs = sdk.get_session_messages(out.session_id, directory=folder)
    assert [message.uuid for message in theirs] == live_lines(out)
    contents = {line["uuid"]: line for record in out.records if "uuid" in (line := parse(record.decode()))}
    for message in theirs:
        assert message.type == contents[message.uuid]["type"]
        assert canonical(parse(json.dumps(message.message))) == canonical(contents[message.uuid]["message"])  # it reads 1.10 as 1.1


def test_it_reads_a_session_of_another_agent_in_full(home: Path) -> None:
    call = {"id": "c 1", "type": "function", "function": {"name": "bash", "arguments": '{"x": 1}'}}
    session = Session(
        {"agent_source": "hermes", "native_session_id": "20260101_000000_abcdef", "title": "A relay"},
        (
            {"role": "user", "append_id": "a", "content": "Do it."},
            {"role": "assistant", "append_id": "b", "content": "Yes.", "tool_calls": [call, call]},
            {"role": "tool", "append_id": "c", "tool_call_id": "c 1", "content": "done"},
            {"role": "assistant", "append_id": "d", "content": "Done."},
        ),
    )
    out = installed(home, session)
    assert_their_reader_agrees(home, out)
    assert len(live_lines(out)) == 5
    assert sdk.get_session_info(out.session_id, directory=str(home / "work")).custom_title == "A relay"


@pytest.mark.parametrize(
    "name", [path.stem for path in sorted(SAMPLES.glob("*.jsonl")) if path.stem not in ("oddities", "agent-a1")]
)
def test_it_reads_what_came_home(home: Path, name: str) -> None:
    lines = (SAMPLES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    assert_their_reader_agrees(home, installed(home, session_of(read(lines))))


def test_it_reads_real_sessions_in_full_as_home_and_as_another_agents(home: Path, corpus: Path) -> None:
    files = sorted((corpus / "claude-code").glob("*.jsonl"))
    if not files:
        pytest.skip(f"no Claude Code transcripts in {corpus}")
    for path in files:
        session = session_of(read(path.read_bytes().splitlines(keepends=True)))
        assert_their_reader_agrees(home, installed(home, session))
        said = tuple({key: value for key, value in message.items() if key != "native"} for message in session.messages)
        assert_their_reader_agrees(home, installed(home, Session(session.meta | {"agent_source": "other"}, said)))


def test_it_lists_a_sub_agent_beside_its_session(home: Path) -> None:
    parent = session_of(read((SAMPLES / "blocks.jsonl").read_bytes().splitlines()))
    child = session_of(read((SAMPLES / "agent-a1.jsonl").read_bytes().splitlines()))
    out = installed(home, parent, (child,))
    assert sdk.list_subagents(out.session_id, directory=str(home / "work")) == ["a1"]
    theirs = sdk.get_subagent_messages(out.session_id, "a1", directory=str(home / "work"))
    assert [message.uuid for message in theirs] == live_lines(out.subagents[0])


def test_the_folder_of_a_project_is_the_one_that_it_looks_in(home: Path) -> None:
    for name in ("a b", "ä.x_y", "z" * 240, "-"):
        folder = home / name
        folder.mkdir()
        assert project_key(str(folder.resolve())) == sdk.project_key_for_directory(folder)


@draws(60)
@given(sessions())
def test_it_reads_any_session_in_full(tmp_path_factory: pytest.TempPathFactory, session: Session) -> None:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("home")
        patch.setenv("CLAUDE_CONFIG_DIR", str(folder / "config"))
        (folder / "work").mkdir()
        out = installed(folder, session)
        if live_lines(out):
            assert_their_reader_agrees(folder, out)
