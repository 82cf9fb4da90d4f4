"""Which log this is, who may speak to it, and what a connection is set to."""

import psycopg
import pytest
from planted import plant
from sql_log import SqlLog, digest

DEADLINE_S = 10


@plant("log_state", "replace(i.epoch::text, '-', '')", "'epoch'")
@plant("log_state", "to_hex(s.system_identifier)", "'system'")
@plant("log_state", "::bit(32)::integer::text end", "::bit(32)::integer::text || '1' end")
@plant("new_epoch", "gen_random_uuid()", "epoch")
@plant("new_epoch", "|| ' *'", "|| ' '")
def test_a_log_has_a_name_until_it_is_given_another_and_readers_are_told(log: SqlLog):
    log.begin("a")
    state = log.one("log_state")
    name, system, timeline = state["log_id"].split(".")
    (epoch,) = log.sql("select epoch from {}.identity")[0]
    (identifier,) = log.sql("select system_identifier from pg_control_system()")[0]
    assert (name, int(system, 16), timeline) == (f"log_{epoch.hex}", identifier, "1")
    assert (state["head_seq"], state["is_replica"]) == (1, False)
    with log.another() as listener:
        listener.sql("listen tasuki")
        log.one("new_epoch")
        (notice,) = listener.connection.notifies(timeout=DEADLINE_S, stop_after=1)
    assert notice.payload.endswith(" *")
    other = log.one("log_state")["log_id"]
    assert other.split(".")[1:] == [system, timeline]
    assert other.split(".")[0] != name
    assert log.sql("select count(*) from {}.identity") == [(1,)]


@plant("log_state", ".last_seq(), pg_is_in_recovery()", ".last_seq() + 1, pg_is_in_recovery()")
@plant("log_state", ".last_seq(), pg_is_in_recovery()", ".last_seq(), not pg_is_in_recovery()")
def test_the_state_tells_the_head_and_that_this_is_no_replica(log: SqlLog):
    assert [log.one("log_state")[name] for name in ("head_seq", "is_replica")] == [0, False]


@plant("log_hash_key", "select i.hash_key", "select uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())")
@plant("log_hash_key", "select i.hash_key", "select ''::bytea")
def test_the_hash_key_is_the_logs_own_and_stays(log: SqlLog):
    key = log.one("log_hash_key")
    assert len(key) == 32
    assert log.one("log_hash_key") == key
    log.one("new_epoch")
    assert log.one("log_hash_key") == key


@plant(
    "add_token",
    "on conflict (token_hash) do nothing",
    "on conflict (token_hash) do update set revoked_at = null, scope = excluded.scope",
)
@plant("add_token", "on conflict (token_hash) do nothing", "")
@plant("add_token", "add_token.scope, add_token.project_id", "'admin', add_token.project_id")
@plant("find_token", "t.token_hash = find_token.token_hash and", "")
@plant("find_token", "and t.revoked_at is null", "")
@plant("find_token", "t.scope, t.project_id", "t.project_id, t.scope")
def test_a_token_is_known_by_its_hash_until_it_is_revoked(log: SqlLog):
    mine, other = digest(b"mine") * 2, digest(b"other") * 2
    log.one("add_token", token_hash=mine, scope="read", project_id="p", label="l")
    log.one("add_token", token_hash=mine, scope="admin", project_id=None, label="again")
    log.one("add_token", token_hash=other, scope="append", project_id=None, label="")
    token = log.one("find_token", token_hash=mine)
    assert (token["token_no"], token["scope"], token["project_id"]) == (1, "read", "p")
    assert log.one("find_token", token_hash=other)["scope"] == "append"
    assert log.call("find_token", token_hash=digest(b"nobody") * 2) == []
    log.sql("update {}.tokens set revoked_at = now() where token_no = 1")
    log.one("add_token", token_hash=mine, scope="read", project_id="p", label="l")
    assert log.call("find_token", token_hash=mine) == []


def test_a_token_is_kept_as_a_hash_with_a_scope_that_there_is(log: SqlLog):
    for token_hash, scope in ((b"short", "read"), (digest(b"t") * 2, "everything")):
        with pytest.raises(psycopg.errors.CheckViolation):
            log.one("add_token", token_hash=token_hash, scope=scope, project_id=None, label="")


@plant("notify_probe", "'? ' || notify_probe.nonce", "notify_probe.nonce")
@plant("notify_probe", "pg_notify('tasuki'", "pg_notify('tasuki2'")
def test_a_probe_comes_back_as_it_was_sent(log: SqlLog):
    with log.another() as listener:
        listener.sql("listen tasuki")
        listener.sql("listen tasuki2")
        log.one("notify_probe", nonce="n1")
        (notice,) = listener.connection.notifies(timeout=DEADLINE_S, stop_after=1)
    assert (notice.channel, notice.payload) == ("tasuki", "? n1")


SET_FOR_WORK = {
    "statement_timeout": "3s",
    "lock_timeout": "70ms",
    "idle_in_transaction_session_timeout": "10s",
    "default_transaction_isolation": "read committed",
    "enable_bitmapscan": "off",
    "jit": "off",
    "TimeZone": "UTC",
}


@plant("configure_connection", "'statement_timeout', statement_timeout_ms::text", "'statement_timeout', lock_timeout_ms::text")
@plant("configure_connection", "'lock_timeout', lock_timeout_ms::text, false", "'lock_timeout', lock_timeout_ms::text, true")
@plant("configure_connection", "'10000'", "'0'")
@plant("configure_connection", "'read committed'", "'repeatable read'")
@plant("configure_connection", "'enable_bitmapscan', 'off'", "'enable_bitmapscan', 'on'")
@plant("configure_connection", "(2 * statement_timeout_ms)::text", "'0'")
@plant("configure_connection", "'UTC'", "'Asia/Tokyo'")
def test_a_connection_holds_nothing_for_long(log: SqlLog):
    for setting in ("default_transaction_isolation to serializable", "enable_bitmapscan to on", "timezone to 'Asia/Tokyo'"):
        log.sql(f"set {setting}")
    log.one("configure_connection", statement_timeout_ms=3000, lock_timeout_ms=70)
    assert {name: log.sql(f"show {name}")[0][0] for name in SET_FOR_WORK} == SET_FOR_WORK
    assert log.sql("show transaction_timeout") == [("6s",)]


@plant("configure_maintenance", "statement_timeout_ms::text, false", "'1000', false")
@plant("configure_maintenance", "then '5000' else", "then '0' else")
@plant("configure_maintenance", "'transaction_timeout', '0'", "'transaction_timeout', '60000'")
@plant("configure_maintenance", "'60000'", "'0'")
def test_a_connection_for_long_work_is_bounded_in_waiting_and_idling_only(log: SqlLog):
    log.one("configure_connection", statement_timeout_ms=3000, lock_timeout_ms=70)
    log.one("configure_maintenance", statement_timeout_ms=0)
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "transaction_timeout")
    assert [log.sql(f"show {name}")[0][0] for name in names] == ["0", "5s", "1min", "0"]
    log.one("configure_maintenance", statement_timeout_ms=400)
    assert [log.sql(f"show {name}")[0][0] for name in names] == ["400ms", "400ms", "1min", "0"]
