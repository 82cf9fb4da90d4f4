"""purge_events: the one door in the append-only log takes out what was said, and leaves that it was said."""

import psycopg
import pytest
from planted import plant
from sql_log import SqlLog

PURGED = b'{"purged":true}'


def contents(log: SqlLog, *seqs: int) -> list[tuple[object, ...]]:
    columns = "body, body_hash, append_id, meta, facts"
    return log.sql(f"select {columns} from {{}}.log l where l.seq = any (%s) order by l.seq", list(seqs))


@plant("purge_events", "and n.seq = l.seq", "and n.seq <> l.seq")
@plant("purge_events", "body = '{\"purged\":true}', body_hash = null", "body = '{\"purged\":true}', body_hash = l.body_hash")
@plant("purge_events", "append_id = '', said_at", "append_id = l.append_id, said_at")
@plant("purge_events", "meta = case when l.meta is not null then '{}'::bytea end", "meta = l.meta")
@plant("purge_events", "where f.key in ('session_id',", "where f.key in ('session_id', 'title',")
@plant("purge_events", "'lineage_nos', 'lineage_tos'", "'lineage_tos'")
@plant("purge_events", "and l.body <> '{\"purged\":true}'", "")
def test_a_purged_session_has_said_nothing_and_still_stands_where_it_stood(log: SqlLog):
    log.seqs(log.created("a", meta=b'{"title":"T"}', facts={"title": "T", "lineage_nos": [9], "lineage_tos": [9]}))
    log.seqs(log.said("a", "secret", append_id="k", natives=b"secret", facts={"model": "m"}))
    log.begin("b")
    log.seqs(log.said("b", natives=b"kept"))
    other = contents(log, 3, 4)
    assert log.one("purge_events", session_no=1, seqs=None) == {"events": 2, "natives": 1}
    created, said = contents(log, 1, 2)
    kept = {"session_id": "a", "project_id": "p", "lineage_nos": [9], "lineage_tos": [9]}
    assert (created[0], created[1], created[2], created[3], created[4]) == (PURGED, None, "", b"{}", kept)
    assert said == (PURGED, None, "", None, {})
    assert log.sql("select seq, native from {}.natives") == [(4, b"kept")]
    assert contents(log, 3, 4) == other
    assert log.one("purge_events", session_no=1, seqs=None) == {"events": 0, "natives": 0}


@plant("purge_events", "set body = ", "set append_key = decode(md5(l.seq::text), 'hex'), body = ")
def test_what_was_purged_is_not_written_again(log: SqlLog):
    log.begin("a")
    log.seqs(log.said("a", "secret", append_id="k"))
    log.one("purge_events", session_no=1, seqs=[2])
    assert log.append(log.said("a", "secret", append_id="k"))[0][1:4] == (2, True, None)


@plant("purge_events", "(purge_events.seqs is null or l.seq = any (purge_events.seqs))\n       and", "true and")
@plant("purge_events", "(purge_events.seqs is null or l.seq = any (purge_events.seqs)) and n.seq", "true and n.seq")
def test_single_events_are_purged_of_their_own_session_only(log: SqlLog):
    log.begin("a", "b")
    log.seqs(log.said("a", natives=b"1"), log.said("a", natives=b"2"), log.said("b", natives=b"3"))
    assert log.one("purge_events", session_no=1, seqs=[4, 5]) == {"events": 1, "natives": 1}
    assert [body == PURGED for body, *_ in contents(log, 3, 4, 5)] == [False, True, False]
    assert log.sql("select seq from {}.natives order by seq") == [(3,), (5,)]


@plant("purge_events", "perform set_config('store.purging', 'off', true);", "perform set_config('store.purging', 'on', false);")
def test_the_door_is_shut_again_in_the_same_transaction(log: SqlLog):
    log.begin("a")
    with log.connection.transaction():
        log.one("purge_events", session_no=1, seqs=None)
        with pytest.raises(psycopg.Error) as refused, log.connection.transaction():
            log.sql("update {}.log set seq = seq")
        assert refused.value.sqlstate == "TK405"


@plant("purge_events", "perform store.forget_archive();", "null;")
@plant("purge_events", "if events + natives > 0 then", "if true then")
def test_the_archive_of_what_was_purged_is_forgotten_in_the_same_commit(log: SqlLog):
    log.begin("a")
    assert log.one("archive_generation") == 1
    for _ in "12":
        log.one("purge_events", session_no=1, seqs=None)
        assert log.one("archive_generation") == 2


@plant("purge_events", "perform store.lock_log();", "")
def test_nobody_appends_while_events_are_purged(log: SqlLog):
    log.begin("a")
    with log.another() as other, log.connection.transaction():
        log.one("purge_events", session_no=1, seqs=None)
        other.sql("set lock_timeout = 50")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            other.one("lock_log")
