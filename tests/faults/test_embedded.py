"""The embedded PostgreSQL is one for a data directory, outlives whoever is killed, and ends with the last user."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from eventstore import embedded
from eventstore.embedded import EmbeddedPostgres
from eventstore.embedded_cluster import answers
from eventstore.errors import EmbeddedUnavailable

USER = """
import sys
from pathlib import Path
from eventstore.embedded import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])) as postgres:
    print(postgres.start(), flush=True)
    sys.stdin.read()
"""


class User:
    """Another process that uses the server until it is told to leave, or killed."""

    def __init__(self, data_dir: Path) -> None:
        command = [sys.executable, "-c", USER, str(data_dir)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def dsn(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        self.process.communicate(timeout=60)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60)


@contextmanager
def users(data_dir: Path, number: int) -> Iterator[list[User]]:
    started = [User(data_dir) for _ in range(number)]
    try:
        yield started
    finally:
        for user in started:
            if user.process.poll() is None:
                user.kill()


def wait_until(holds: Callable[[], object], limit_s: float = 30) -> None:
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {limit_s} s"
        time.sleep(0.002)


def port(dsn: str) -> int:
    number = urlsplit(dsn).port
    assert number is not None
    return number


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "cluster" / "postmaster.pid").read_text().split()[0])


def remember(dsn: str, word: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("create table if not exists remembered (word text)")
        connection.execute("insert into remembered values (%s)", [word])


def remembered(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as connection:
        return [word for (word,) in connection.execute("select word from remembered order by word")]


def test_what_was_written_is_there_at_the_next_start(engine_folder):
    with EmbeddedPostgres(engine_folder) as postgres:
        first = postgres.start()
        remember(first, "kept")
    with EmbeddedPostgres(engine_folder) as postgres:
        assert postgres.start() == first
        assert remembered(first) == ["kept"]


def test_six_processes_that_race_on_an_empty_directory_get_one_server(engine_folder):
    with users(engine_folder, 6) as racing:
        found = {user.dsn() for user in racing}
        [dsn] = found
        for word, user in enumerate(racing[:-1]):
            user.leave()
            remember(dsn, str(word))
        racing[-1].leave()
    assert not answers(port(dsn))


def test_the_server_of_a_killed_process_is_adopted_and_stopped_by_the_last(made_folder):
    with users(made_folder, 1) as [killed]:
        first = killed.dsn()
        pid = postmaster(made_folder)
        killed.kill()
    assert answers(port(first))
    with users(made_folder, 2) as (one, two):
        assert (one.dsn(), two.dsn()) == (first, first)
        assert postmaster(made_folder) == pid
        one.leave()
        assert answers(port(first))
        two.leave()
    assert not answers(port(first))


def test_an_interrupt_of_the_whole_group_leaves_the_server_to_the_others(made_folder):
    with users(made_folder, 1) as [other], EmbeddedPostgres(made_folder) as postgres:
        dsn = postgres.start()
        assert other.dsn() == dsn
        assert os.getpgid(postmaster(made_folder)) not in (os.getpgid(0), os.getpgid(other.process.pid))


def test_a_killed_server_starts_again_where_it_was_with_all_that_was_committed(make_cluster):
    postgres = make_cluster()
    dsn = postgres.start()
    remember(dsn, "committed")
    with closing(psycopg.connect(dsn)) as open_at_the_time:
        open_at_the_time.execute("insert into remembered values ('not committed')")
        os.kill(postmaster(postgres.data_dir), signal.SIGKILL)
        assert postgres.start() == dsn
        assert remembered(dsn) == ["committed"]


def test_a_busy_orphan_of_a_killed_server_does_not_keep_the_next_from_starting(make_cluster):
    postgres = make_cluster()
    dsn = postgres.start()
    with closing(psycopg.connect(dsn)) as busy:
        busy.pgconn.send_query(b"do $$ begin loop end loop; end $$")
        busy.pgconn.flush()
        os.kill(postmaster(postgres.data_dir), signal.SIGKILL)
        assert postgres.start() == dsn
        assert busy.info.backend_pid not in _processes_in(postgres.data_dir)


def test_a_killed_server_and_its_last_user_leave_nothing_behind(make_cluster):
    postgres = make_cluster()
    postgres.start()
    os.kill(postmaster(postgres.data_dir), signal.SIGKILL)
    postgres.stop()
    assert _processes_in(postgres.data_dir) == []
    postgres.stop()


def _processes_in(data_dir: Path) -> list[int]:
    """The live processes whose folder is the cluster; empty where there is no /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.path.samefile(entry / "cwd", data_dir / "postgres" / "cluster"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("at", ["cluster.new/PG_VERSION", "cluster.new/base/1", "cluster/postmaster.pid"])
def test_a_start_that_was_killed_half_way_is_done_again(engine_folder, at):
    with users(engine_folder, 1) as [killed]:
        wait_until((engine_folder / "postgres" / at).exists)
        killed.kill()
    with EmbeddedPostgres(engine_folder) as postgres:
        remember(postgres.start(), "whole")


def test_a_half_made_cluster_is_made_anew(engine_folder):
    (engine_folder / "postgres" / "cluster.new" / "base").mkdir(parents=True)
    with EmbeddedPostgres(engine_folder) as postgres:
        remember(postgres.start(), "whole")


def test_a_stale_pid_file_with_the_number_of_a_live_process_is_seen_through(made_folder):
    with EmbeddedPostgres(made_folder) as postgres:
        dsn = postgres.start()
        remember(dsn, "kept")
        left = (made_folder / "postgres" / "cluster" / "postmaster.pid").read_text().split("\n")
    stale = "\n".join([str(os.getpid()), *left[1:]])
    (made_folder / "postgres" / "cluster" / "postmaster.pid").write_text(stale)
    with EmbeddedPostgres(made_folder) as postgres:
        assert remembered(postgres.start()) == ["kept"]


def test_a_port_that_was_taken_meanwhile_is_left_to_its_new_owner(made_folder):
    with EmbeddedPostgres(made_folder) as postgres:
        dsn = postgres.start()
    with socket.create_server(("127.0.0.1", port(dsn))), EmbeddedPostgres(made_folder) as postgres:
        moved = postgres.start()
        assert port(moved) != port(dsn)
        remember(moved, "reached")


def test_a_second_use_in_one_process_counts_as_another_user(made_folder):
    with EmbeddedPostgres(made_folder) as outer:
        dsn = outer.start()
        with EmbeddedPostgres(made_folder) as inner:
            assert inner.start() == dsn
        remember(dsn, "still there")


def test_the_password_is_private_and_the_only_way_in(make_cluster):
    postgres = make_cluster()
    dsn = postgres.start()
    passfile = postgres.data_dir / "postgres" / "pgpass"
    assert passfile.stat().st_mode & 0o777 == 0o600
    assert passfile.read_text().strip().rsplit(":", 1)[1] not in dsn
    for refused in ({"passfile": "/dev/null"}, {"passfile": "/dev/null", "password": "guessed"}):
        with pytest.raises(psycopg.OperationalError, match=r"no password supplied|authentication failed"):
            psycopg.connect(make_conninfo(dsn, **refused))


def test_the_server_stands_by_its_promises(make_cluster):
    with psycopg.connect(make_cluster().start()) as connection:
        names = ["fsync", "synchronous_commit", "full_page_writes", "jit", "listen_addresses", "TimeZone"]
        shown = [connection.execute("select current_setting(%s)", [name]).fetchone() for name in names]
        assert [value for row in shown if row for value in row] == ["on", "on", "on", "off", "127.0.0.1", "UTC"]
        connection.execute("create extension pg_trgm")
        assert connection.execute("select show_trgm('轮询') <> '{}'").fetchone() == (True,)


def test_the_log_of_the_server_holds_no_statement_and_no_value(make_cluster):
    postgres = make_cluster()
    with psycopg.connect(postgres.start(), autocommit=True) as connection:
        connection.execute("create table once (word text primary key)")
        for _ in range(2):
            try:
                connection.execute("insert into once values ('a secret')")
            except psycopg.errors.UniqueViolation:
                break
    assert "secret" not in (postgres.data_dir / "postgres" / "log").read_text()


def test_the_operators_own_settings_win(made_folder):
    (made_folder / "postgres" / "local.conf").write_text("work_mem = '7MB'\njit = on\n")
    with EmbeddedPostgres(made_folder) as postgres, psycopg.connect(postgres.start()) as connection:
        assert connection.execute("select current_setting('work_mem'), current_setting('jit')").fetchone() == (
            "7MB",
            "on",
        )


def test_a_server_that_does_not_start_says_why_in_its_own_words(engine_folder):
    with pytest.raises(EmbeddedUnavailable, match="shared_buffers"):
        EmbeddedPostgres(engine_folder, settings={"shared_buffers": "plenty"}).start()
    with EmbeddedPostgres(engine_folder) as postgres:
        remember(postgres.start(), "whole")


def test_a_cluster_of_another_major_version_is_refused_naming_both(made_folder):
    (made_folder / "postgres" / "cluster" / "PG_VERSION").write_text("17\n")
    with pytest.raises(EmbeddedUnavailable, match=r"PostgreSQL 17.*PostgreSQL 18") as refused:
        EmbeddedPostgres(made_folder).start()
    assert "TASUKI_DSN" in refused.value.detail


def test_a_cluster_whose_password_is_gone_is_refused(made_folder):
    (made_folder / "postgres" / "pgpass").unlink()
    with pytest.raises(EmbeddedUnavailable, match="pgpass is missing"):
        EmbeddedPostgres(made_folder).start()


def test_a_frozen_process_that_starts_the_server_is_named_within_the_limit(engine_folder, monkeypatch):
    monkeypatch.setattr(embedded, "START_LIMIT_S", 0.2)
    with users(engine_folder, 1) as [frozen]:
        wait_until((engine_folder / "postgres" / "cluster.new").exists)
        frozen.process.send_signal(signal.SIGSTOP)
        with pytest.raises(EmbeddedUnavailable, match=r"start\.lock"):
            EmbeddedPostgres(engine_folder).start()
        frozen.process.send_signal(signal.SIGCONT)
        remember(frozen.dsn(), "whole")
        frozen.leave()
