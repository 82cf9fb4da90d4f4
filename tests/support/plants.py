"""Bugs to plant in a test's own database, each one a way in which others have lost events or written them twice.

A test that does not fail with the bug it is meant for shows nothing.
"""

import psycopg

NO_LOCK = """
create or replace function tasuki.lock_log() returns void language plpgsql as $$ begin end $$
"""

# How many a log is numbered: from a sequence, a number for each event as it is inserted.
_NUMBERED_BY_SEQUENCE = """
create sequence tasuki.planted start {start} cache {cache};
create or replace function tasuki.append_events(
    requests integer[], session_ids text[], new_ids text[], kinds text[], roles text[], append_ids text[],
    append_keys bytea[], body_hashes bytea[], bodies bytea[], natives bytea[], metas bytea[], facts text[],
    said_ats timestamptz[], writer_nos integer[], expected_heads bigint[], expected_metas bigint[])
returns table (item integer, seq bigint, is_repeat boolean, refused text, head_seq bigint, created_at timestamptz)
language plpgsql as $$
#variable_conflict use_column
declare
    _no  bigint;
    _nos text := '';
begin
    {before}
    for _item in 1 .. cardinality(requests) loop
        select s.session_no into strict _no from tasuki.sessions s where s.session_id = session_ids[_item];
        item := _item; seq := nextval('tasuki.planted'); is_repeat := false; created_at := clock_timestamp();
        {between}
        insert into tasuki.log (session_no, seq, created_at, writer_no, kind, role, append_key, body_hash, append_id, body)
        values (_no, append_events.seq, append_events.created_at, writer_nos[_item], kinds[_item]::tasuki.event_kind,
                roles[_item]::tasuki.message_role, append_keys[_item], body_hashes[_item], append_ids[_item], bodies[_item]);
        _nos := _nos || ' ' || _no;
        return next;
    end loop;
    perform from tasuki.sessions s where s.session_id = any(session_ids) order by s.session_no for update;
    update tasuki.sessions s set head_seq = greatest(s.head_seq, append_events.seq) where s.session_id = any(session_ids);
    perform pg_notify('tasuki', append_events.seq || _nos);
end $$
"""
PLAIN_SEQUENCE = _NUMBERED_BY_SEQUENCE.format(start="{start}", cache=1, before="", between="perform pg_sleep(random() * 0.003);")
"""The number is taken, then something takes a while, then the commit: another one overtakes it."""
NUMBER_BEFORE_LOCK = _NUMBERED_BY_SEQUENCE.format(
    start="{start}", cache=1, before="", between="perform pg_sleep(random() * 0.003); perform tasuki.lock_log();"
)
"""The lock is there, and comes too late."""
CACHED_SEQUENCE = _NUMBERED_BY_SEQUENCE.format(start="{start}", cache=32, before="perform tasuki.lock_log();", between="")
"""The lock comes first, but every connection holds numbers in stock."""


def plant(dsn: str, statement: str) -> None:
    """Put a bug into a database; a sequence goes on from its log's head."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select tasuki.last_seq() + 1").fetchone()
        assert row
        connection.execute(statement.replace("{start}", str(row[0])))


NO_LOOKUP = ("append_events", "left join tasuki.log old on old.append_key = i.append_key", "left join tasuki.log old on false")
"""Repeats are not looked for."""
NO_HASH = ("append_events", "g.old_hash <> g.body_hash", "false")
"""Another body under the same id is taken for a repeat."""
NO_UNIQUE_IDS = "drop index tasuki.log_append_ids"


def edit(dsn: str, function: str, before: str, after: str) -> None:
    """Put a bug into a function of a database by changing a piece of its text, which must be there once."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select pg_get_functiondef(p.oid) from pg_proc p where p.proname = %s", [function]).fetchone()
        assert row
        assert row[0].count(before) == 1, f"{function} does not hold {before!r} once"
        connection.execute(row[0].replace(before, after))
