"""Users of an embedded PostgreSQL come, write, leave and are killed at random, as is the server: nothing is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from eventstore.embedded import EmbeddedPostgres

# Each line it prints is a number that it was told is committed.
WRITER = """
import itertools, sys
from pathlib import Path
import psycopg
from eventstore.embedded import EmbeddedPostgres
name = sys.argv[2]
for number in itertools.count():
    with EmbeddedPostgres(Path(sys.argv[1])) as postgres:
        try:
            with psycopg.connect(postgres.start(), connect_timeout=10) as connection:
                connection.execute("insert into written values (%s, %s)", [name, number])
        except psycopg.OperationalError:
            continue
    print(number, flush=True)
"""


@pytest.mark.parametrize("seconds", [4, pytest.param(120, marks=pytest.mark.long)])
def test_every_acknowledged_row_survives_the_coming_and_going(engine_folder, seconds):
    with EmbeddedPostgres(engine_folder) as postgres, psycopg.connect(postgres.start()) as connection:
        connection.execute("create table written (name text, number bigint)")
    running: dict[str, subprocess.Popen[str]] = {}
    try:
        acknowledged = churn(engine_folder, running, random.Random(seconds), time.monotonic() + seconds)
    finally:
        for process in running.values():
            process.kill()
            process.communicate(timeout=60)
    with EmbeddedPostgres(engine_folder) as postgres, psycopg.connect(postgres.start()) as connection:
        written = {(name, number) for name, number in connection.execute("select name, number from written")}
    assert acknowledged
    assert acknowledged - written == set()


def churn(data_dir: Path, running: "dict[str, subprocess.Popen[str]]", draw: random.Random, end: float) -> set[tuple[str, int]]:
    """Keep three writers going until `end`, killing them and the server at random; return what they were promised."""
    acknowledged: set[tuple[str, int]] = set()
    started = 0
    while time.monotonic() < end:
        while len(running) < 3:
            started += 1
            running[f"w{started}"] = start_writer(data_dir, f"w{started}")
        time.sleep(draw.uniform(0, 0.6))
        if draw.random() < 0.5:
            kill_server(data_dir)
        if draw.random() < 0.5:
            name = draw.choice(sorted(running))
            acknowledged |= kill_writer(name, running.pop(name))
    for name in list(running):
        acknowledged |= kill_writer(name, running.pop(name))
    return acknowledged


def start_writer(data_dir: Path, name: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(data_dir), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill_writer(name: str, process: "subprocess.Popen[str]") -> set[tuple[str, int]]:
    """Kill it; return what it was told is committed. It must not have failed before."""
    assert process.poll() is None, process.communicate()[1]
    process.kill()
    said, _ = process.communicate(timeout=60)
    return {(name, int(line)) for line in said.splitlines(keepends=True) if line.endswith("\n")}


def kill_server(data_dir: Path) -> None:
    try:
        os.kill(int((data_dir / "postgres/cluster/postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    except (OSError, ValueError, IndexError):
        return
