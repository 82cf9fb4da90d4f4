"""Bugs to plant in a test's own database, each one a way in which others have lost events or written them twice.

A test that does not fail with the bug it is meant for shows nothing.
"""

import psycopg

NO_LOCK = """
create or replace function store.lock_log() returns void language plpgsql as $$ begin end $$
"""

# How many a log is numbered: from a sequence, a number for each event as it is inserted.
_NUMBERED_BY_SEQUENCE = """
#variable_conflict use_column
declare
    _no  bigint;
    _nos text := '';
begin
    {before}
    for _item in 1 .. cardinality(requests) loop
        select s.session_no into strict _no from store.sessions s where s.session_id = session_ids[_item];
        item := _item; seq := nextval('store.planted'); is_repeat := false; created_at := clock_timestamp();
        {between}
        insert into store.log (session_no, seq, created_at, writer_no, version, kind, role, append_key, body_hash, append_id, body)
        values (_no, append_events.seq, append_events.created_at, writer_nos[_item], versions[_item],
                kinds[_item]::store.event_kind, roles[_item]::store.message_role, append_keys[_item], body_hashes[_item],
                append_ids[_item], bodies[_item]);
        _nos := _nos || ' ' || _no;
        return next;
    end loop;
    perform from store.sessions s where s.session_id = any(session_ids) order by s.session_no for update;
    update store.sessions s set head_seq = greatest(s.head_seq, append_events.seq) where s.session_id = any(session_ids);
    perform pg_notify('tasuki', '0 ' || append_events.seq || _nos);
end
"""
PLAIN_SEQUENCE = 1, _NUMBERED_BY_SEQUENCE.format(before="", between="perform pg_sleep(random() * 0.003);")
"""The number is taken, then something takes a while, then the commit: another one overtakes it."""
NUMBER_BEFORE_LOCK = (
    1,
    _NUMBERED_BY_SEQUENCE.format(before="", between="perform pg_sleep(random() * 0.003); perform store.lock_log();"),
)
"""The lock is there, and comes too late."""
CACHED_SEQUENCE = 32, _NUMBERED_BY_SEQUENCE.format(before="perform store.lock_log();", between="")
"""The lock comes first, but every connection holds numbers in stock."""

NO_LOOKUP = ("append_events", "left join store.log old on old.append_key = i.append_key", "left join store.log old on false")
"""Repeats are not looked for."""
NO_HASH = ("append_events", "g.old_hash <> g.body_hash", "false")
"""Another body under the same id is taken for a repeat."""
ASYNCHRONOUS = ("perform set_config('synchronous_commit', 'on', true)", "null")
"""A commit is acknowledged before it is on disk, where the database says so."""
NO_UNIQUE_IDS = "drop index store.log_append_ids"


def plant(dsn: str, statement: str) -> None:
    """Put a bug into a database."""
    with psycopg.connect(dsn) as connection:
        connection.execute(statement)


def number_by_sequence(dsn: str, cache: int, body: str) -> None:
    """Let a sequence number the events from the log's head on, each connection with a stock of `cache` numbers."""
    with psycopg.connect(dsn) as connection:
        (head,) = connection.execute("select store.last_seq()").fetchone() or (0,)
        connection.execute(f"create sequence store.planted start {head + 1} cache {cache}")
        definition = _definition(connection, "append_events")
        connection.execute(definition[: definition.index("AS $function$")] + f"as $planted${body}$planted$")
    close_short_way(dsn)


def close_short_way(dsn: str) -> None:
    """Let every append go through append_events, lone messages too."""
    with psycopg.connect(dsn) as connection:
        definition = _definition(connection, "append_message")
        connection.execute(definition[: definition.index("AS $function$")] + "as $planted$ begin return null; end $planted$")


def edit(dsn: str, function: str, before: str, after: str) -> None:
    """Put a bug into a function of a database by changing a piece of its text, which must be there once."""
    with psycopg.connect(dsn) as connection:
        definition = _definition(connection, function)
        assert definition.count(before) == 1, f"{function} does not hold {before!r} once"
        connection.execute(definition.replace(before, after))


def _definition(connection: psycopg.Connection, function: str) -> str:
    row = connection.execute("select pg_get_functiondef(%s::regproc)", [f"store.{function}"]).fetchone()
    assert row
    return str(row[0])
