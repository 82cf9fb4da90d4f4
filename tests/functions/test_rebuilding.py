"""A projection is built anew beside the live one and swapped in, or folded afresh in a transaction and compared."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from planted import plant
from sql_log import SqlLog

from sql.migrate import projections

SESSIONS = next(one for one in projections() if one.name == "sessions")


@pytest.fixture
def module_database(database: str) -> str:
    """These change the schema: each has a database of its own."""
    return database


def live(log: SqlLog, name: str) -> list[str]:
    """The rows of a live projection, each as one text."""
    return [row for (row,) in log.sql(f"select t::text from {{}}.{name} t order by t::text")]


def some_events(log: SqlLog) -> None:
    log.begin("a", "b")
    log.seqs(log.said("a"), log.snapped("a", 3), log.said("b"))


def begin(log: SqlLog) -> None:
    """Begin to build sessions anew, and make its empty table and fold."""
    assert log.one("begin_rebuild", projection="sessions") is True
    log.connection.execute(SESSIONS.text.encode())


@plant("begin_rebuild", "set_config('search_path', 'tasuki_rebuild', false)", "set_config('search_path', 'tasuki_rebuild', true)")
@plant("rebuild_range", "using from_seq, to_seq", "using from_seq + 1, to_seq")
@plant("rebuild_range", "set_config('search_path', 'tasuki_rebuild', true)", "set_config('search_path', 'store', true)")
@plant("swap_projection", "if _last > done_seq then", "if _last < done_seq then")
@plant("swap_projection", "done_seq + 1, _last", "done_seq, _last")
@plant("swap_projection", "perform store.take_place(projection);", "drop schema tasuki_rebuild cascade;")
@plant(
    "take_place",
    "'alter function tasuki_rebuild.%I(bigint, bigint) set schema store'",
    "'drop function tasuki_rebuild.%I(bigint, bigint)'",
)
@plant("add_projection", "set version = excluded.version", "set version = p.version")
@plant("add_projection", "built_at = clock_timestamp()", "built_at = p.built_at")
def test_a_rebuilt_projection_takes_the_live_ones_place_with_all_that_came_meanwhile(log: SqlLog):
    some_events(log)
    before = live(log, "sessions")
    (built_at,) = log.sql("select built_at from {}.projections where name = 'sessions'")[0]
    log.sql("update {}.sessions set title = 'wrong', head_seq = 99")
    begin(log)
    log.call("rebuild_range", projection="sessions", from_seq=1, to_seq=2)
    log.call("rebuild_range", projection="sessions", from_seq=3, to_seq=3)
    log.call("swap_projection", projection="sessions", version=SESSIONS.version + 1, done_seq=3)
    assert live(log, "sessions") == before
    row = log.sql("select version, built_at > %s from {}.projections where name = 'sessions'", built_at)[0]
    assert row == (SESSIONS.version + 1, True)
    log.seqs(log.said("a"))
    assert log.one("find_session", session_id="a")["head_seq"] == 6


@plant("swap_projection", "perform store.lock_log();", "perform pg_advisory_xact_lock(1);")
def test_nobody_appends_while_a_projection_is_swapped(log: SqlLog):
    some_events(log)
    begin(log)
    with log.another() as other, log.connection.transaction():
        log.call("swap_projection", projection="sessions", version=1, done_seq=0)
        other.sql("set lock_timeout = 50")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            other.one("lock_log")


@plant("read_page_at_head", "language plpgsql", "language plpgsql stable")
@plant("read_events_at_head", "language plpgsql", "language plpgsql stable")
def test_a_page_that_waits_for_a_swap_gives_the_head_as_the_last_rows_leave_it(log: SqlLog):
    some_events(log)
    begin(log)
    log.call("rebuild_range", projection="sessions", from_seq=1, to_seq=5)
    (seq,) = log.seqs(log.said("a"))
    page = {"session_no": 1, "part_nos": [1], "part_afters": [seq], "part_tos": [2**63 - 1], "max_count": 9, "max_bytes": 999}
    functions = ("read_page", "read_page_at_head", "read_events", "read_events_at_head")
    waiting = "select pid from pg_locks where relation = '{}.sessions'::regclass and not granted"
    with ThreadPoolExecutor(len(functions)) as threads, log.another() as other:
        with log.connection.transaction():
            log.call("swap_projection", projection="sessions", version=SESSIONS.version, done_seq=5)
            pages = [threads.submit(read_apart, log, function, {**page, "with_native": False}) for function in functions]
            while len(other.sql(waiting)) < len(functions):
                assert not any(one.done() for one in pages)
        assert [one.result(10)["head_seq"] for one in pages] == [seq] * len(functions)


def read_apart(log: SqlLog, function: str, page: dict[str, object]) -> dict[str, object]:
    """Read over a connection of its own."""
    with log.another() as other:
        row: dict[str, object] = other.one(function, **page)
        return row


@plant("install_fold", "'fold_' || p.name", "'fold_snapshots'")
@plant("install_fold", "(fold.from_seq, fold.to_seq)", "(fold.to_seq, fold.to_seq)")
@plant("add_projection", "perform store.install_fold();", "")
def test_every_projection_that_was_added_is_folded_with_each_append(log: SqlLog):
    log.sql("create table {}.counted (from_seq bigint, to_seq bigint)")
    log.sql(
        "create function {}.fold_counted(from_seq bigint, to_seq bigint) returns void language sql as"
        " 'insert into {}.counted values (fold_counted.from_seq, fold_counted.to_seq)'"
    )
    log.call("add_projection", projection="counted", version=3)
    log.begin("a")
    log.seqs(log.said("a"), log.said("a"))
    assert log.sql("select * from {}.counted") == [(1, 1), (2, 3)]
    assert log.one("find_session", session_id="a")["head_seq"] == 3


@plant("begin_rebuild", "if not pg_try_advisory_lock(128005062318954) then", "if false then")
@plant("begin_rebuild", "drop schema if exists tasuki_rebuild cascade;", "")
@plant("end_rebuild", "perform pg_advisory_unlock(128005062318954);", "")
@plant("end_rebuild", "drop schema if exists tasuki_rebuild cascade;", "")
def test_one_rebuild_at_a_time_and_what_a_dead_one_left_is_dropped(log: SqlLog):
    some_events(log)
    before = live(log, "sessions")
    with log.another() as other:
        begin(other)
        assert log.one("begin_rebuild", projection="sessions") is False
    wait_until_free(log)
    begin(log)
    log.one("end_rebuild")
    assert log.sql("select to_regnamespace('tasuki_rebuild')") == [(None,)]
    with log.another() as other:
        assert other.one("begin_rebuild", projection="sessions") is True
    assert live(log, "sessions") == before


def wait_until_free(log: SqlLog) -> None:
    """Wait for the lock of a connection that was closed, as the next to rebuild would."""
    log.sql("set lock_timeout = '10s'")
    log.sql("select pg_advisory_lock(128005062318954)")
    log.sql("select pg_advisory_unlock(128005062318954)")


@plant("list_projections", "case when name = _rebuilding then _done end", "_done")
@plant("list_projections", "select count(*) from", "select 1 from")
@plant("list_projections", "pg_total_relation_size", "0 * pg_total_relation_size")
@plant("list_projections", "order by p.name", "order by p.name desc")
@plant("rebuild_range", "set done_seq = to_seq", "set done_seq = from_seq")
@plant("begin_rebuild", "values (projection, 0, clock_timestamp())", "values ('snapshots', 0, clock_timestamp())")
def test_projections_are_listed_with_their_size_and_how_far_a_rebuild_has_come(log: SqlLog):
    some_events(log)

    def shown() -> list[tuple[object, ...]]:
        rows = log.call("list_projections")
        assert all(row["bytes"] > 0 for row in rows)
        return [(row["name"], row["version"], row["row_count"], row["rebuilt_to"]) for row in rows]

    versions = {one.name: one.version for one in projections()}
    assert shown()[:2] == [("sessions", versions["sessions"], 2, None), ("snapshots", versions["snapshots"], 1, None)]
    begin(log)
    log.call("rebuild_range", projection="sessions", from_seq=1, to_seq=4)
    assert [row[3] for row in shown()[:2]] == [4, None]


@plant("begin_verify", "including defaults", "excluding defaults")
@plant("begin_verify", "on commit drop", "on commit delete rows")
@plant("begin_verify", ".last_seq()", ".last_seq() + 1")
@plant("verify_range", "using from_seq, to_seq", "using from_seq + 1, to_seq")
@plant("verify_range", "'pg_temp, store'", "'store, pg_temp'")
@plant("compare_projection", "where x.value is distinct from y.value", "where x.value <> y.value")
@plant("compare_projection", "where a.j is null or b.j is null", "where a.j is null")
@plant("compare_projection", "where a.j is null or b.j is null", "where b.j is null")
@plant("compare_projection", "full join", "join")
@plant("compare_projection", "d.name, d.live, d.fresh", "d.name, d.fresh, d.live")
@plant("compare_projection", "limit %3$s", "limit %3$s + 1")
@plant("compare_projection", "order by k, d.name", "order by d.name, k")
def test_a_projection_is_compared_row_by_row_with_one_that_is_folded_afresh(log: SqlLog):
    some_events(log)
    log.begin("c")

    def differences(count: int = 99) -> list[tuple[object, ...]]:
        with log.connection.transaction():
            head = log.one("begin_verify", projection="sessions")
            assert head == 6
            for first, last in ((1, 2), (3, head)):
                log.call("verify_range", projection="sessions", from_seq=first, to_seq=last)
            found = log.call("compare_projection", projection="sessions", max_count=count)
        return [tuple(row.values()) for row in found]

    assert differences() == []
    log.sql("update {}.sessions set title = 'wrong', message_count = 7, agent_source = 'x' where session_id = 'a'")
    log.sql("update {}.sessions set session_no = 77 where session_id = 'c'")
    found = [
        ("a", "1", "agent_source", "x", None),
        ("a", "1", "message_count", "7", "1"),
        ("a", "1", "title", "wrong", ""),
        ("c", "6", "(row)", "missing", "there"),
        ("c", "77", "(row)", "there", "missing"),
    ]
    assert differences() == found
    assert differences(2) == found[:2]
