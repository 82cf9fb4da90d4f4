"""A projection that follows the log: folded from its checkpoint, fold and checkpoint in one commit, and swapped beside appends."""

import threading
from datetime import timedelta

import psycopg
import pytest
from planted import plant
from sql_log import SqlLog
from with_followers import FOLDER

TALLIES = (FOLDER / "tallies.sql").read_text("utf-8")
FAILING = """
create or replace function store.fold_tallies(from_seq bigint, to_seq bigint) returns void language plpgsql as $$
begin
    insert into tallies values (from_seq, 1, to_seq, 0);
    if 3 between from_seq and to_seq then
        raise exception 'my secret';
    end if;
end $$
"""
SLOW = """
create or replace function store.fold_tallies(from_seq bigint, to_seq bigint) returns void language sql as
    'select pg_sleep(60)'
"""


@pytest.fixture
def module_database(database: str) -> str:
    """These change the schema: each has a database of its own."""
    return database


def add(log: SqlLog, seq: int = 0) -> None:
    log.sql("set search_path = store")
    log.connection.execute(TALLIES.encode())
    log.sql("reset search_path")
    log.call("add_follower", projection="tallies", version=1, seq=seq)


def some_events(log: SqlLog) -> None:
    log.begin("a", "b")
    log.seqs(log.said("a"), log.said("b"), log.said("b"))


def follow(log: SqlLog, max_count: int = 100) -> tuple[int, int]:
    row = log.one("follow_log", projection="tallies", max_count=max_count)
    return row["folded"], row["behind"]


def tallies(log: SqlLog) -> list[tuple[int, ...]]:
    return [tuple(map(int, row)) for row in log.sql("select session_no, events, seqs from {}.tallies order by session_no")]


def checkpoint(log: SqlLog) -> tuple[int, int, int, str | None]:
    row = log.one("list_checkpoints")
    assert row["name"] == "tallies"
    assert (row["tries"] > 0) is (row["next_try_at"] is not None)
    return row["seq"], row["head_seq"], row["tries"], row["last_error"]


@plant("add_follower", "values (projection, add_follower.seq)", "values (projection, 0)")
@plant("install_fold", "where not exists", "where exists")
@plant("follow_log", "using _seq + 1, _to", "using _seq, _to")
@plant("follow_log", "set seq = _to,", "set seq = _to + 1,")
@plant("follow_log", "folded := _to - _seq", "folded := _to")
@plant("follow_log", "behind := _head - _seq - folded", "behind := _head - _seq")
@plant("follow_log", "least(_head, _seq", "least(_head + 1, _seq")
@plant("follow_log", "'fold_' || projection", "'fold_snapshots'")
@plant("list_checkpoints", "c.seq, store.last_seq()", "c.seq, c.seq")
@plant("list_checkpoints", "when c.tries > 0", "when c.tries >= 0")
def test_events_are_folded_once_each_from_the_checkpoint_and_by_no_append(log: SqlLog):
    some_events(log)
    add(log, seq=1)
    assert (tallies(log), checkpoint(log)) == ([], (1, 5, 0, None))
    assert follow(log, 2) == (2, 2)
    assert (tallies(log), checkpoint(log)[:2]) == ([(1, 1, 3), (2, 1, 2)], (3, 5))
    assert follow(log) == (2, 0)
    assert follow(log) == (0, 0)
    log.seqs(log.said("a"))
    assert tallies(log) == [(1, 1, 3), (2, 3, 11)]
    assert follow(log) == (1, 0)
    assert tallies(log) == [(1, 2, 9), (2, 3, 11)]


@plant("follow_log", "_seq < _head and _is_due", "_seq < _head")
@plant("follow_log", "max_count >> least(_tries, 30)", "max_count")
@plant("follow_log", "set seq = _to, tries = 0", "set seq = _to, tries = 1")
@plant("follow_log", "last_error = null", "last_error = c.last_error")
@plant("follow_log", "when others or query_canceled", "when query_canceled")
@plant("note_failed_fold", "tries = c.tries + 1", "tries = 1")
@plant("note_failed_fold", "to_seq, state),", "to_seq, message),")
@plant("note_failed_fold", "least(300, 2 ^", "least(1, 2 ^")
@plant("note_failed_fold", "least(300, 2", "greatest(300, 2")
@plant("note_failed_fold", "where c.name = projection", "where false")
def test_a_fold_that_fails_is_undone_noted_and_tried_again_later_in_halves(log: SqlLog):
    some_events(log)
    add(log)
    log.connection.execute(FAILING.encode())

    def let_it_be_due() -> None:
        log.sql("update {}.checkpoints set next_try_at = now() - interval '1 s'")

    assert follow(log, 4) == (0, 5)
    failed = "fold_tallies(1, 4) failed with SQLSTATE P0001; PostgreSQL's log says why"
    assert (tallies(log), checkpoint(log)) == ([], (0, 5, 1, failed))
    assert follow(log, 4) == (0, 5)
    assert checkpoint(log)[2] == 1, "it is not due yet"
    let_it_be_due()
    assert follow(log, 4) == (2, 3)
    assert checkpoint(log) == (2, 5, 0, None)
    for tries in range(1, 12):
        let_it_be_due()
        assert follow(log, 4) == (0, 3)
        assert checkpoint(log)[2] == tries
        (wait,) = log.sql("select next_try_at - clock_timestamp() from {}.checkpoints")[0]
        longest = timedelta(seconds=min(300, 2 ** (tries - 1)))
        assert longest * 0.4 < wait <= longest
    assert checkpoint(log)[3] == failed.replace("(1, 4)", "(3, 3)"), "the event itself is named"


@plant("follow_log", "when others or query_canceled", "when others")
@plant("follow_log", "clock_timestamp() < statement_timestamp()", "clock_timestamp() > statement_timestamp()")
def test_a_fold_that_takes_too_long_is_a_failed_one(log: SqlLog):
    some_events(log)
    add(log)
    log.connection.execute(SLOW.encode())
    log.sql("set statement_timeout = '100ms'")
    assert follow(log) == (0, 5)
    log.sql("reset statement_timeout")
    assert checkpoint(log)[2] == 1


@plant("follow_log", "raise;  -- not too slow", "--")
def test_a_driver_that_is_told_to_stop_has_not_failed(log: SqlLog):
    some_events(log)
    add(log)
    log.connection.execute(SLOW.encode())
    log.sql("set statement_timeout = '50s'")
    stop = threading.Timer(0.5, log.connection.cancel)
    stop.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        follow(log)
    stop.join()
    assert checkpoint(log)[2] == 0


@plant("follow_log", "where c.name = projection for update;", "where c.name = projection;")
@plant("follow_log", "_seq + greatest(1, max_count", "(select c.seq from store.checkpoints c) - 1 + greatest(1, max_count")
def test_two_drivers_at_once_fold_nothing_twice(log: SqlLog):
    some_events(log)
    add(log)
    with log.another() as other:
        folded = []
        with log.connection.transaction():
            assert follow(log, 3) == (3, 2)
            thread = threading.Thread(target=lambda: folded.append(follow(other, 3)))
            thread.start()
            wait_until_blocked(log)
        thread.join()
    assert folded == [(2, 0)]
    assert tallies(log) == [(1, 2, 4), (2, 3, 11)]


@plant("follow_log", "_head := store.last_seq();  --", "--")
def test_a_driver_that_waited_for_a_swap_does_not_go_back_behind_it(log: SqlLog):
    some_events(log)
    add(log)
    with log.another() as other, log.another() as writer:
        folded = []
        with log.connection.transaction():
            assert follow(log) == (5, 0)
            thread = threading.Thread(target=lambda: folded.append(follow(other)))
            thread.start()
            wait_until_blocked(log)
            writer.seqs(writer.said("a"), writer.said("b"))
            assert follow(log) == (2, 0), "what came after the other one had looked"
        thread.join()
        assert (folded, checkpoint(log)[0]) == ([(0, 0)], 7)
        assert follow(other) == (0, 0)
    assert tallies(log) == [(1, 3, 10), (2, 4, 18)]


def wait_until_blocked(log: SqlLog) -> None:
    """Wait until somebody waits for what this connection holds. Raises when nobody does within ten seconds."""
    for _ in range(1000):
        log.sql("select pg_stat_clear_snapshot()")
        if log.sql("select 1 from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))"):
            return
        log.sql("select pg_sleep(0.01)")
    raise AssertionError("nobody waited")


@plant("follow_log", "if not found then", "if false then")
def test_nothing_follows_that_was_not_added(log: SqlLog):
    some_events(log)
    assert log.call("follow_log", projection="tallies", max_count=9) == []
    assert log.call("list_checkpoints") == []


@plant("follow_log", "'synchronous_commit', 'off', true", "'synchronous_commit', 'off', false")
@plant("follow_log", "if _seq < _head", "if _seq <= _head")
def test_nothing_to_do_takes_no_lock_and_a_setting_ends_with_its_transaction(log: SqlLog):
    some_events(log)
    add(log)
    assert follow(log) == (5, 0)
    assert log.sql("show synchronous_commit") == [("on",)]
    with log.connection.transaction():
        assert follow(log) == (0, 0)
        assert log.sql("select pg_current_xact_id_if_assigned()") == [(None,)]


@plant("lock_follower", "hashtext(projection)", "1")
@plant("lock_follower", "pg_try_advisory_lock", "pg_try_advisory_lock_shared")
def test_one_drives_a_follower_and_another_may_drive_another(log: SqlLog):
    with log.another() as other:
        assert log.one("lock_follower", projection="tallies") is True
        assert other.one("lock_follower", projection="tallies") is False
        assert other.one("lock_follower", projection="kinds") is True


def rebuilt_beside(log: SqlLog, done_seq: int) -> None:
    assert log.one("begin_rebuild", projection="tallies") is True
    log.connection.execute(TALLIES.encode())
    log.call("rebuild_range", projection="tallies", from_seq=1, to_seq=done_seq)


@plant("swap_follower", "done_seq + 1, _last", "done_seq, _last")
@plant("swap_follower", "swap_follower.version, _last", "swap_follower.version, done_seq")
@plant("swap_follower", "perform store.take_place(projection);", "drop schema tasuki_rebuild cascade;")
@plant("take_place", "'drop table if exists store.%I'", "'alter table store.%I rename to gone'")
@plant("take_place", "'drop function if exists store.%I(bigint, bigint)'", "'select 1'")
@plant(
    "take_place",
    "alter function tasuki_rebuild.%I(bigint, bigint) set schema store",
    "drop function tasuki_rebuild.%I(bigint, bigint)",
)
@plant("take_place", "drop schema tasuki_rebuild cascade;", "")
@plant("add_follower", "set version = excluded.version", "set version = p.version")
@plant("add_follower", "set seq = add_follower.seq", "set seq = c.seq")
@plant("add_follower", "tries = 0", "tries = c.tries")
def test_a_rebuilt_follower_takes_the_old_ones_place_and_follows_on(log: SqlLog):
    some_events(log)
    add(log)
    follow(log, 2)
    log.sql("update {}.tallies set seqs = 77")
    log.sql("update {}.checkpoints set tries = 3, last_error = 'e'")
    rebuilt_beside(log, done_seq=3)
    log.call("swap_follower", projection="tallies", version=2, done_seq=3)
    assert (tallies(log), checkpoint(log)) == ([(1, 2, 4), (2, 3, 11)], (5, 5, 0, None))
    assert log.sql("select version from {}.projections where name = 'tallies'") == [(2,)]
    assert log.sql("select to_regnamespace('tasuki_rebuild'), to_regclass('store.gone')") == [(None, None)]
    log.seqs(log.said("a"))
    assert follow(log) == (1, 0)
    assert tallies(log) == [(1, 3, 10), (2, 3, 11)]


@plant("swap_follower", "for update;", ";")
@plant("swap_follower", "if not found then", "if true then")
def test_the_swap_and_its_driver_wait_for_each_other_and_no_append_does(log: SqlLog):
    some_events(log)
    add(log)
    rebuilt_beside(log, done_seq=5)
    with log.another() as other, other.connection.transaction():
        assert follow(other, 1) == (1, 4)
        log.sql("set lock_timeout = 100")
        with pytest.raises(psycopg.errors.LockNotAvailable, match="checkpoints"):
            log.call("swap_follower", projection="tallies", version=1, done_seq=5)
    with log.another() as other, log.connection.transaction():
        log.call("swap_follower", projection="tallies", version=1, done_seq=5)
        other.sql("set lock_timeout = 200")
        other.seqs(other.said("a"))
        with pytest.raises(psycopg.errors.LockNotAvailable):
            follow(other)
    assert follow(log) == (1, 0)
    assert tallies(log) == [(1, 3, 10), (2, 3, 11)]


@plant("swap_follower", "perform store.lock_log();", "")
@plant("add_follower", "perform store.install_fold();", "")
@plant("swap_projection", "for update;", "and false;")
@plant("add_projection", "delete from store.checkpoints c where c.name = projection;", "")
def test_a_view_may_leave_the_append_and_come_back(log: SqlLog):
    some_events(log)
    rebuilt_beside(log, done_seq=5)
    log.call("swap_projection", projection="tallies", version=1, done_seq=5)
    log.seqs(log.said("a"))
    assert tallies(log) == [(1, 3, 10), (2, 3, 11)]
    rebuilt_beside(log, done_seq=6)
    with log.another() as other:
        with log.connection.transaction():
            log.call("swap_follower", projection="tallies", version=2, done_seq=6)
            other.sql("set lock_timeout = 100")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.one("lock_log")
        log.seqs(log.said("a"))
        assert (tallies(log), checkpoint(log)[:2]) == ([(1, 3, 10), (2, 3, 11)], (6, 7))
        rebuilt_beside(log, done_seq=6)
        with other.connection.transaction():
            assert follow(other) == (1, 0)
            log.sql("set lock_timeout = 100")
            with pytest.raises(psycopg.errors.LockNotAvailable, match="checkpoints"):
                log.call("swap_projection", projection="tallies", version=3, done_seq=6)
        log.call("swap_projection", projection="tallies", version=3, done_seq=6)
    assert log.call("list_checkpoints") == []
    log.seqs(log.said("b"))
    assert tallies(log) == [(1, 4, 17), (2, 4, 19)]


@plant("begin_verify", "c.name = projection), store", "c.name <> projection), store")
def test_a_follower_is_compared_up_to_its_checkpoint(log: SqlLog):
    some_events(log)
    add(log)
    follow(log, 2)
    with log.connection.transaction():
        assert log.one("begin_verify", projection="tallies") == 2
        log.call("verify_range", projection="tallies", from_seq=1, to_seq=2)
        assert log.call("compare_projection", projection="tallies", max_count=9) == []
