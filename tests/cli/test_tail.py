"""`tasuki tail`: what is there, then each message in the moment it comes, until interrupted."""

import json
import signal
import socket

import pytest
from hubs import HubProcess

ODD = '{"odd": 1.50, "big": 123456789012345678901234567890, "nul": "\\u0000", "half": "\\ud83d", "role": "user", "content": "é"}'


def text_of(line):
    return json.loads(line)["content"]


def test_a_message_is_shown_when_it_is_appended(start, cli, pushed, rest):
    tail = start(cli, "tail", pushed, "--json", "--new")
    rest.until_someone_waits()
    rest.append(pushed, "one more")
    assert text_of(tail.stdout.readline()) == "one more"


def test_it_begins_at_the_beginning_and_ends_after_the_count(cli, pushed):
    assert cli.lines("tail", pushed, "--count", 5) == cli.lines("show", pushed, "--limit", 5)


def test_it_begins_after_a_seq(cli, pushed):
    seqs = [message["seq"] for message in cli.lines("show", pushed)]
    assert [message["seq"] for message in cli.lines("tail", pushed, "--after", seqs[4], "--count", 3)] == seqs[5:8]


def test_a_message_is_printed_as_the_bytes_that_came(cli, pushed, rest):
    seq = rest.append(pushed, ODD)
    line = cli.out("tail", pushed, "--json", "--after", seq - 1, "--count", 1)
    for part in ("1.50", "123456789012345678901234567890", '"\\u0000"', '"\\ud83d"', "é"):
        assert part in line


def test_a_reader_at_a_terminal_gets_readable_text(start, cli, pushed, rest):
    tail = start(cli, "tail", pushed, "--new")
    rest.until_someone_waits()
    rest.append(pushed, "hello there")
    head, body = tail.stdout.readline(), tail.stdout.readline()
    assert " user " in head
    assert body == "    hello there\n"


def test_a_deleted_session_ends_it_with_the_reason(start, cli, pushed, rest):
    tail = start(cli, "tail", pushed, "--json", "--new")
    rest.until_someone_waits()
    rest.call("DELETE", f"/v1/sessions/{pushed}")
    _, errors = tail.communicate(timeout=30)
    assert (tail.returncode, "[session_deleted]" in errors) == (1, True)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this platform cannot interrupt another process")
def test_an_interrupt_ends_it_without_a_word(start, cli, pushed):
    tail = start(cli, "tail", pushed, "--json")
    tail.stdout.readline()
    tail.send_signal(signal.SIGINT)
    _, errors = tail.communicate(timeout=30)
    assert (tail.returncode, errors) == (130, "")


def test_a_session_that_is_not_there_is_said_at_once(cli):
    done = cli.run("tail", "ses_01890000-0000-7000-8000-000000000000")
    assert (done.returncode, "[session_not_found]" in done.stderr) == (1, True)


def test_it_outlives_a_restart_of_the_hub_and_misses_nothing(start, cli, project, database, tmp_path, rest_of):
    (tmp_path / "hub").mkdir()
    hub = HubProcess(database, tmp_path / "hub", port=free_port())
    try:
        rest = rest_of(hub.start())
        session_id = rest.create(project)
        rest.append(session_id, "before")
        cli.env |= {"TASUKI_URL": hub.url, "TASUKI_TOKEN": hub.token}
        tail = start(cli, "tail", session_id, "--json")
        assert text_of(tail.stdout.readline()) == "before"
        hub.stop()
        hub.log_path.unlink()
        hub.start()
        rest.append(session_id, "after")
        assert text_of(tail.stdout.readline()) == "after"
        tail.terminate()
        said = tail.communicate(timeout=30)[1]
        assert said.index("Trying again") < said.index("the hub answers again")
    finally:
        hub.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
