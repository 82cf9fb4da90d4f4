"""append_events: numbers without a hole, repeats, refusals, all or none; and what it calls: the lock, the folds, the notice."""

import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from planted import plant
from psycopg import errors
from sql_log import SqlLog, digest

DEADLINE_S = 10


@plant("append_events", "_last + count(*)", "_last + 1 + count(*)")
@plant("append_events", "_last + count(*)", "count(*)")
@plant("append_events", "over (order by d.item rows unbounded preceding)", "over (order by d.item desc rows unbounded preceding)")
@plant("append_events", "filter (where d.is_new) over", "over")
@plant("last_seq", "desc limit 1", "limit 1")
@plant("last_seq", "select l.seq + 0 from", "select l.session_no from")
def test_numbers_rise_by_one_in_the_order_of_items_over_all_sessions(log: SqlLog):
    assert log.one("last_seq") == 0
    assert log.seqs(log.created("a")) == [1]
    twice = log.said("a", append_id="k")
    assert log.seqs(log.created("b"), log.said("a"), [twice, log.said("a")]) == [2, 3, 4, 5]
    assert log.seqs(log.said("b"), twice, log.said("b")) == [6, 4, 7]
    assert log.one("last_seq") == 7


@plant("append_events", "case when n.new_id is null then n.session_no else n.new_seq end", "coalesce(n.session_no, n.new_seq)")
def test_a_new_session_has_the_number_of_its_first_event_and_a_fork_too(log: SqlLog):
    log.begin("a", "b")
    fork = {"parent_no": 1, "snapshot_seq": 9, "up_to_seq": 1, "lineage_nos": [], "lineage_tos": []}
    assert log.seqs(log.forked("a", "c", fork)) == [3]
    assert log.sql("select session_no, seq from {}.log order by seq") == [(1, 1), (2, 2), (3, 3)]
    assert [log.one("find_session", session_id=name)["session_no"] for name in "abc"] == [1, 2, 3]


@plant("append_events", "coalesce(n.old_seq, n.new_seq)", "n.new_seq")
@plant("append_events", "n.old_seq is not null, n.refused", "false, n.refused")
@plant("append_events", "coalesce(n.old_created_at, _now)", "_now")
@plant("append_events", "old.append_key = i.append_key", "old.append_id = i.session_id")
@plant("append_events", "j.old_seq is null and not bool_or", "not bool_or")
def test_a_repeat_is_answered_as_the_first_and_writes_nothing(log: SqlLog):
    log.begin("a")
    (first,) = log.append(log.said("a", "hi", append_id="k"))
    (again,) = log.append(log.said("a", "hi", append_id="k"))
    assert (again.seq, again.is_repeat, again.refused) == (first.seq, True, None)
    assert (first.is_repeat, again.created_at) == (False, first.created_at)
    assert log.one("last_seq") == 2


@plant("append_events", "g.old_hash <> g.body_hash", "false")
@plant("append_events", "when g.old_seq is not null then null", "when g.old_seq is not null then 'append_id_reused'")
@plant("append_events", "g.old_hash <> g.body_hash", "g.old_hash is distinct from g.body_hash")
def test_the_same_id_with_another_body_is_refused_unless_the_first_is_not_known_any_more(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a", "hi", append_id="k"), log.said("a", "hi", append_id="old", body_hashes=None))
    (refused,) = log.append(log.said("a", "ho", append_id="k"))
    assert (refused.refused, refused.seq) == ("append_id_reused", 2)
    assert log.append(log.said("a", "ho", append_id="old"))[0][1:4] == (3, True, None)


@plant("append_events", "g.session_id is not null and g.session_no is null", "false")
@plant("append_events", "when g.deleted_seq is not null then 'session_deleted'", "")
@plant("append_events", "g.expected_head <> g.head_seq", "false")
@plant("append_events", "g.expected_head <> g.head_seq", "g.expected_head < g.head_seq")
@plant("append_events", "g.expected_meta <> g.meta_seq", "false")
@plant("append_events", "when not g.is_kept then 'too_large'", "")
def test_what_the_session_does_not_take_is_refused_and_named(log: SqlLog):
    log.begin("a", "gone")
    log.seqs(log.said("a"), log.deleted("gone"))

    def refused(**more) -> str | None:
        (outcome,) = log.append(log.said(more.pop("session", "a"), **more))
        return outcome.refused

    assert refused(session="nobody") == "session_not_found"
    assert refused(session="gone") == "session_deleted"
    assert [refused(expected_heads=head) for head in (0, 2, 4, 99)] == ["seq_conflict"] * 4
    assert [refused(expected_metas=seq) for seq in (0, 3)] == ["meta_contended"] * 2
    assert refused(bodies=None, body_hashes=digest(b"large")) == "too_large"
    assert log.one("last_seq") == 4
    assert refused(expected_heads=3, expected_metas=1) is None


@plant("append_events", "n.refused, n.head_seq", "n.refused, n.old_seq")
def test_a_conflict_tells_the_head(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a"), log.said("a"), log.recorded("a"))
    assert log.append(log.said("a", expected_heads=1))[0].head_seq == 3


@plant(
    "append_events",
    "when g.old_seq is not null then null",
    "when g.deleted_seq is not null then 'session_deleted' when g.old_seq is not null then null",
)
@plant(
    "append_events",
    "when g.old_seq is not null then null",
    "when g.expected_head <> g.head_seq then 'seq_conflict' when g.old_seq is not null then null",
)
@plant(
    "append_events",
    "when g.old_seq is not null then null",
    "when not g.is_kept then 'too_large' when g.old_seq is not null then null",
)
def test_repeats_come_before_every_refusal(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a", append_id="k"))
    log.seqs(log.deleted("a"))
    large = log.said("a", append_id="k", bodies=None, body_hashes=log.said("a")["body_hashes"], expected_heads=77)
    assert log.append(large)[0][1:4] == (2, True, None)


@plant("append_events", "bool_or(j.refused is not null) over (partition by j.request)", "j.refused is not null")
@plant("append_events", "over (partition by j.request)", "over ()")
def test_a_request_is_appended_whole_or_not_at_all_and_its_neighbours_do_not_mind(log: SqlLog):
    log.begin("a", "b")
    bad = [log.said("a", append_id="k1"), log.said("nobody"), log.said("a", append_id="k2")]
    outcomes = log.append(log.said("b"), bad, [log.said("b"), log.said("b")])
    assert [outcome.seq for outcome in outcomes] == [3, None, None, None, 4, 5]
    assert [outcome.refused for outcome in outcomes] == [None, None, "session_not_found", None, None, None]
    assert log.seqs(log.said("a", append_id="k1")) == [6]


@plant("append_events", "_now, said_ats[n.item]", "_now, _now")
@plant("append_events", "end, bodies[n.item])", "end, bodies[n.item + 1])")
@plant("append_events", "writer_nos[n.item],", "0,")
@plant("append_events", "append_ids[n.item],", "append_ids[1],")
@plant("append_events", "facts[n.item]::jsonb", "'{}'")
@plant("append_events", "select n.new_seq,\n", "select n.item,\n")
def test_every_column_is_that_of_its_item(log: SqlLog):
    log.begin("a", "b")
    item = log.said("b", "x", "assistant", {"f": 1}, append_id="k", writer_nos=7, said_ats="2001-02-03T00:00:00Z", natives=b"n")
    (_, outcome) = log.append(log.said("a"), item)
    columns = "session_no, said_at, writer_no, kind::text, role::text, append_key, body_hash, append_id, body, facts, created_at"
    (row,) = log.sql(f"select {columns} from {{}}.log l where l.seq + 0 = 4")
    assert (row[0], str(row[1].date()), *row[2:5]) == (2, "2001-02-03", 7, "message.appended", "assistant")
    assert row[5:10] == (item["append_keys"], item["body_hashes"], "k", item["bodies"], {"f": 1})
    assert row[10] == outcome.created_at
    assert log.sql("select seq, native from {}.natives") == [(4, b"n")]


@plant("append_events", ".fold(_last + 1, _new)", ".fold(_last + 2, _new)")
@plant("append_events", ".fold(_last + 1, _new)", ".fold(_last + 1, _new - 1)")
def test_the_views_are_brought_up_to_the_last_event_in_the_same_commit(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a"), log.said("a"))
    session = log.one("find_session", session_id="a")
    assert (session["head_seq"], session["last_seq"], session["message_count"]) == (3, 3, 2)


@plant("append_events", "if _new > _last then", "if true then")
@plant("append_events", ".notify_appended(_last + 1, _new)", ".notify_appended(_last, _new)")
@plant("notify_appended", "between notify_appended.from_seq and notify_appended.to_seq", "= notify_appended.to_seq")
@plant("notify_appended", "from_seq || ' ' || to_seq", "to_seq || ' ' || to_seq")
@plant("notify_appended", "l.kind = 'session.meta_updated'", "l.kind = 'session.created'")
@plant("notify_appended", "group by l.session_no", "group by l.session_no, l.seq")
def test_one_notice_for_a_commit_tells_its_seqs_and_sessions(log: SqlLog):
    with log.another() as listener:
        listener.sql("listen tasuki")
        log.seqs(log.created("a"), log.created("b"))
        said = [log.said("b"), log.said("a", append_id="k"), log.said("b")]
        log.seqs(said)
        log.append(log.said("a", append_id="k"), log.said("nobody"))
        log.seqs(log.patched("a", b"{}"), log.said("b"))
        log.one("notify_probe", nonce="end")
        notices = []
        for notice in listener.connection.notifies(timeout=DEADLINE_S):
            if notice.payload.startswith("?"):
                break
            notices.append(notice.payload.split())
    told = [(first, last, sorted(nos)) for first, last, *nos in notices]
    assert told == [("1", "2", ["1", "2"]), ("3", "5", ["1", "2"]), ("6", "7", ["1m", "2"])], "m: its meta was changed"


@plant("notify_appended", "case when length(_nos) < 7000 then _nos else '*' end", "_nos")
def test_a_notice_that_would_be_too_long_wakes_all(log: SqlLog):
    with log.another() as listener:
        listener.sql("listen tasuki")
        log.append(*(log.created(f"s{number}") for number in range(2000)))
        (notice,) = listener.connection.notifies(timeout=DEADLINE_S, stop_after=1)
    assert notice.payload == "1 2000 *"


@plant("append_events", "set_config('synchronous_commit', 'on', true)", "set_config('synchronous_commit', 'off', true)")
def test_an_append_is_durable_whatever_the_connection_was_set_to(log: SqlLog):
    log.sql("set synchronous_commit = off")
    with log.connection.transaction():
        log.seqs(log.created("a"))
        assert log.sql("show synchronous_commit") == [("on",)]
    assert log.sql("show synchronous_commit") == [("off",)]


@plant("append_events", "<> 'read committed'", "= ''")
def test_an_append_in_an_older_snapshot_is_refused(log: SqlLog):
    log.sql("set default_transaction_isolation = 'repeatable read'")
    with pytest.raises(psycopg.Error) as refused:
        log.append(log.created("a"))
    assert refused.value.sqlstate == "TK500"


@plant("append_events", "octet_length(i.body) + coalesce(octet_length(i.native), 0) > 65536", "false")
@plant("append_events", "if _is_large then\n        with staged as", "if false then\n        with staged as")
def test_a_large_body_is_compressed_before_the_lock_is_taken(log: SqlLog):
    log.begin("a")
    before = staged_bytes(log)
    with log.another() as holder, log.another() as writer, ThreadPoolExecutor() as threads:
        with holder.connection.transaction():
            holder.one("lock_log")
            done = threads.submit(writer.append, log.said("a", "x" * 8_000_000))
            until_someone_waits_for_the_lock(log)
            assert staged_bytes(log) > before
            assert not done.done()
        assert [one.seq for one in done.result(DEADLINE_S)] == [2]


@plant(
    "append_events", "select t.body from store.staged t where t.ctid = _places[n.item]", "select t.body from store.staged t limit 1"
)
@plant(
    "append_events",
    "select t.native from store.staged t where t.ctid = _places[n.item]",
    "select t.native from store.staged t limit 1",
)
@plant("append_events", "delete from store.staged t where t.ctid = any(_places)", "null")
@plant("append_events", "t.ctid = _places[n.item]) end, bodies[n.item])", "t.ctid = _places[n.item]) end)")
def test_large_and_small_bodies_of_one_batch_are_each_kept_whole_and_nothing_stays_staged(log: SqlLog):
    log.begin("a")
    texts = ["small", "x" * 100_000, "y" * 200_000, "small again"]
    natives = [None, b"n" * 5, b"m" * 300_000, b"k" * 70_000]
    events = [log.said("a", text) | {"natives": native} for text, native in zip(texts, natives, strict=True)]
    for _ in "12":  # the second time as repeats
        assert log.seqs(events) == [2, 3, 4, 5]
        kept = log.sql("select l.body, n.native from {}.log l left join {}.natives n using (seq) where l.seq > 1 order by l.seq")
        assert kept == [(event["bodies"], native) for event, native in zip(events, natives, strict=True)]
        assert log.sql("select count(*) from {}.staged") == [(0,)]


def until_someone_waits_for_the_lock(log: SqlLog) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not log.sql("select pid from pg_stat_activity where datname = current_database() and wait_event = 'advisory'"):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def staged_bytes(log: SqlLog) -> int:
    ((size,),) = log.sql("select pg_total_relation_size('{}.staged')")
    return int(size)


@plant("lock_log", "pg_advisory_xact_lock", "pg_advisory_xact_lock_shared")
@plant("lock_log", "perform pg_advisory_xact_lock(128005062318953)", "perform pg_try_advisory_xact_lock(128005062318953)")
@plant("lock_log", "pg_advisory_xact_lock(128005062318953)", "pg_advisory_xact_lock(pg_backend_pid())")
@plant("lock_log", "current_setting('lock_timeout') = '0'", "current_setting('lock_timeout') = '1'")
def test_one_appends_at_a_time_and_nobody_waits_for_ever(log: SqlLog):
    with log.another() as other:
        with log.connection.transaction():
            log.one("lock_log")
            other.sql("set lock_timeout = 50")
            with pytest.raises(errors.LockNotAvailable):
                other.one("lock_log")
            with pytest.raises(errors.LockNotAvailable):
                other.append(other.created("b"))
        other.seqs(other.created("b"))
    with log.connection.transaction():
        assert log.sql("show lock_timeout") == [("0",)]
        log.one("lock_log")
        assert log.sql("show lock_timeout") == [("5s",)]
