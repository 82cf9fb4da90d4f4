"""`tasuki demo`: the relay in under a minute, on nothing but itself, leaving nothing."""

import os
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no embedded PostgreSQL here")


@pytest.fixture
def alone(tmp_path, cli_of):
    """The command line where no hub was told of, and one that is told of would not answer."""
    cli = cli_of(tmp_path)
    cli.env |= {"TASUKI_URL": "http://127.0.0.1:9", "TASUKI_DSN": "postgresql://127.0.0.1:9/none"}
    return cli


def left_behind():
    folders = set(Path(tempfile.gettempdir()).glob("tasuki-demo-*"))
    commands = (path / "cmdline" for path in Path("/proc").glob("[0-9]*"))
    return folders, {command for command in commands if b"tasuki-demo-" in read(command)}


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_it_shows_every_step_and_leaves_nothing_behind(alone):
    before = left_behind()
    shown = alone.out("demo")
    for part in ("host B sees", "append → seen: median", "snapshot: snap_", "forks it", "17 inherited", "the folder is gone"):
        assert part in shown
    assert left_behind() == before


def test_what_was_measured_can_be_read_by_a_program(alone):
    measured = alone.json("demo")
    assert (measured["messages"], measured["fork_messages"], measured["parent_messages"]) == (17, 19, 17)
    assert 0 < measured["append_to_seen_ms"]["median"] <= measured["append_to_seen_ms"]["max"]
    assert measured["total_s"] < 60


def test_ended_in_the_middle_it_leaves_nothing_behind(alone, start):
    before = left_behind()
    demo = start(alone, "demo")
    while "Host B tails" not in demo.stdout.readline():
        assert demo.poll() is None
    demo.terminate()
    demo.communicate(timeout=60)
    assert demo.returncode != 0
    assert left_behind() == before
