"""Into the store of DeepSeek Harness: as a log that it opens, and never while it has it open."""

import json

import pytest
from installing import files_of, installed, refused

from cli.containers_dsh import read_lines


def test_dsh_finds_it_by_its_header_and_an_old_log_goes_in_as_a_new_one(cli, rest, project, work):
    header = {"type": "session", "version": 0, "id": "session-1", "createdAt": 1, "cwd": "/there", "delegationDepth": 0}
    message = {"content": [{"type": "text", "text": "go"}], "source": {"kind": "user"}, "role": "user", "id": "u1"}
    said = {"type": "user/message", "seq": 0, "time": 2, "data": message, "surfaceOp": "append"}
    (cli.home / "in.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(said)}\n")
    session = rest.bring(cli.home / "in.jsonl", project)
    told = installed(cli, session, "dsh", work)
    (log,) = (cli.home / ".dsh").rglob("session.v4.jsonl.zstd")
    assert log.parent.name == "session-1"
    assert json.loads(read_lines(log)[0])["cwd"] == str(work.resolve())
    assert told["command"] == ["dsh", "tui", "--resume", "session-1"]
    cli.out("pull", session, "--to", "dsh", "-o", cli.home / "out.v4.jsonl.zstd")
    assert (cli.home / "out.v4.jsonl.zstd").read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    assert json.loads(read_lines(cli.home / "out.v4.jsonl.zstd")[0])["version"] == 4


def test_a_log_that_dsh_would_refuse_goes_in_only_as_one_that_is_written_anew(cli, rest, project, work):
    """Its first prompt stands before its system prompt: it was gone on with once, and never opens again."""
    header = {"type": "session", "version": 4, "id": "s", "createdAt": 1, "cwd": str(work), "isSeeded": False, "delegationDepth": 0}
    here = {"turn": 1, "step": 1}
    prompt = {"role": "system", "id": "p", "source": {"kind": "system-prompt"}, "content": []}
    message = {"content": [{"type": "text", "text": "go"}], "source": {"kind": "user"}, "role": "user", "id": "u1"}
    events = [
        {"type": "turn/start", "data": {"turn": 1}},
        {"type": "step/start", "data": here},
        {"type": "user/message", "data": message, "surfaceOp": "append"},
        {"type": "system/message", "data": here | {"message": prompt}, "surfaceOp": "append"},
    ]
    lines = [header, *({"seq": seq, "time": 2} | event for seq, event in enumerate(events))]
    (cli.home / "in.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    session = rest.bring(cli.home / "in.jsonl", project)
    refused(cli, "not_installed", session, "--to", "dsh", "--install", "--cwd", work)
    assert not list((cli.home / ".dsh").rglob("*.zstd"))
    assert installed(cli, session, "dsh", work, "--session-id", "copy")["native_session_id"] == "copy"


def test_a_session_that_dsh_has_open_is_left_alone(cli, rest, session, work):
    fcntl = pytest.importorskip("fcntl")
    installed(cli, session, "dsh", work)
    (file,) = files_of(cli, "dsh")
    with file.with_name("session.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused(cli, "store_held", session, "--to", "dsh", "--undo")
        rest.append(session, "one more")
        refused(cli, "store_held", session, "--to", "dsh", "--install", "--cwd", work, "--model", "acme/large")
    assert cli.json("pull", session, "--to", "dsh", "--undo")["undone"] is True
