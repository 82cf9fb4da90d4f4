"""append_message: a lone new message goes in as append_events would have it, and what is anything else is left to that."""

from typing import Any

import psycopg
import pytest
from planted import plant
from psycopg import errors
from sql_log import Item, SqlLog

DEADLINE_S = 10
PLACES = {
    "session_id": "session_ids",
    "role": "roles",
    "append_id": "append_ids",
    "append_key": "append_keys",
    "body_hash": "body_hashes",
    "body": "bodies",
    "native": "natives",
    "facts": "facts",
    "said_at": "said_ats",
    "writer_no": "writer_nos",
    "version": "versions",
}


def say(log: SqlLog, item: Item) -> int | None:
    """Append an item of append_events by itself."""
    seq: int | None = log.one("append_message", **{name: item.get(place) for name, place in PLACES.items()})
    return seq


def row_of(log: SqlLog, seq: int) -> dict[str, Any]:
    columns = "version said_at writer_no kind role append_key body_hash append_id body meta facts native".split()
    row = log.sql(
        f"select session_no, {', '.join(columns)} from {{}}.log l left join {{}}.natives n using (seq) where seq = %s", seq
    )
    return dict(zip(["session_no", *columns], row[0], strict=True))


@plant("append_message", "_seq, clock_timestamp(), said_at", "_seq, clock_timestamp(), null")
@plant("append_message", "said_at, writer_no, version, 'mess", "said_at, 0, version, 'mess")
@plant("append_message", "writer_no, version, 'message.appended'", "writer_no, 1, 'message.appended'")
@plant("append_message", "role::store.message_role", "'user'")
@plant("append_message", "body_hash, append_id, body, facts::jsonb", "null, append_id, body, facts::jsonb")
@plant("append_message", "body_hash, append_id, body, facts::jsonb", "body_hash, append_id, body, '{}'")
@plant("append_message", "values (_seq, native)", "values (_seq, body)")
@plant("append_message", "if native is not null then", "if false then")
@plant("append_message", "store.last_seq() + 1", "store.last_seq() + 2")
def test_its_row_is_the_one_of_append_events_and_takes_the_next_number(log: SqlLog):
    log.begin("a", "b")
    more = {"natives": b"n", "versions": 2, "writer_nos": 7, "said_ats": "2001-02-03T00:00:00Z"}
    here, there = (log.said(name, "x", "assistant", {"model": "m"}, **more) for name in "ab")
    assert say(log, here) == 3
    assert log.seqs(there) == [4]
    own = {"session_no", "append_key", "append_id"}
    one, other = row_of(log, 3), row_of(log, 4)
    assert {name: one[name] for name in one.keys() - own} == {name: other[name] for name in other.keys() - own}
    assert (one["session_no"], one["append_key"], one["append_id"]) == (1, here["append_keys"], here["append_ids"])
    assert say(log, log.said("b")) == 5
    assert log.sql("select count(*) from {}.natives") == [(2,)]


@plant("append_message", "old.append_key = append_message.append_key", "old.append_id = append_message.append_id and old.seq = 1")
@plant("append_message", "and s.deleted_seq is null", "")
@plant("append_message", "s.session_id = append_message.session_id", "s.session_id <= append_message.session_id")
def test_a_repeat_and_what_no_session_takes_is_left_alone(log: SqlLog):
    log.begin("a", "gone")
    log.seqs(log.deleted("gone"), log.said("a", append_id="k"))
    for item in (log.said("a", append_id="k"), log.said("a", "else", append_id="k"), log.said("gone"), log.said("nobody")):
        assert say(log, item) is None
    assert log.one("last_seq") == 4


@plant("append_message", "perform store.fold(_seq, _seq)", "null")
@plant("append_message", "|| ' ' || _no)", "|| ' ' || _seq)")
@plant("append_message", "pg_notify('tasuki', _seq || ' ' || _seq", "pg_notify('tasuki', '0 ' || _seq")
def test_the_views_follow_in_the_same_commit_and_one_notice_tells_of_it(log: SqlLog):
    log.begin("a", "b")
    with log.another() as listener:
        listener.sql("listen tasuki")
        assert say(log, log.said("b")) == 3
        (notice,) = listener.connection.notifies(timeout=DEADLINE_S, stop_after=1)
    assert notice.payload == "3 3 2"
    session = log.one("find_session", session_id="b")
    assert (session["head_seq"], session["last_seq"], session["message_count"]) == (3, 3, 1)


@plant("append_message", "set_config('synchronous_commit', 'on', true)", "set_config('synchronous_commit', 'off', true)")
def test_it_is_durable_whatever_the_connection_was_set_to(log: SqlLog):
    log.begin("a")
    log.sql("set synchronous_commit = off")
    with log.connection.transaction():
        say(log, log.said("a"))
        assert log.sql("show synchronous_commit") == [("on",)]


@plant("append_message", "perform store.lock_log()", "null")
@plant("append_message", "<> 'read committed'", "= ''")
def test_it_takes_the_append_lock_and_sees_what_was_committed_before(log: SqlLog):
    log.begin("a")
    with log.another() as other:
        with log.connection.transaction():
            log.one("lock_log")
            other.sql("set lock_timeout = 50")
            with pytest.raises(errors.LockNotAvailable):
                say(other, other.said("a"))
        other.sql("set default_transaction_isolation = 'repeatable read'")
        with pytest.raises(psycopg.Error) as refused:
            say(other, other.said("a"))
    assert refused.value.sqlstate == "TK500"
