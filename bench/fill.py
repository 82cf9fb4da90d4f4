"""Fill: a log of a given length, made quickly: rows put straight into the table by generate_series, then folded once.

They are what appends would have left: sessions of 500 messages of 1 KB, 16 written at the same time, so that neighbours in
a page lie in different blocks of the disk; keys and hashes by the same rules. Then vacuum, analyse and a checkpoint, so that
a large log and a small one are measured in the same state.
"""

from concurrent.futures import ThreadPoolExecutor

import psycopg

from bench.messages import SIZE_BYTES, text

AT_ONCE = 16
MESSAGES = 500
_BLOCK = AT_ONCE * (MESSAGES + 1)
_CHUNK = 50 * _BLOCK

_ROWS = """
insert into store.log (session_no, seq, created_at, said_at, writer_no, kind, role, append_key, body_hash, append_id, body, meta,
                        facts)
select e.session_no, e.seq, now(), case when not e.is_first then now() end, 1,
       (case when e.is_first then 'session.created' else 'message.appended' end)::store.event_kind,
       case when not e.is_first then 'assistant'::store.message_role end,
       substr(sha256(convert_to(e.session_id, 'UTF8')), 1, 6) || substr(sha256(convert_to(e.append_id, 'UTF8')), 1, 10),
       substr(sha256(convert_to(e.append_id, 'UTF8')), 1, 16), e.append_id,
       convert_to(case when e.is_first then '{"project_id":"bench","meta":{}}'
                  else '{"created_at":"2026-01-01T00:00:00.000Z","role":"assistant","append_id":"' || e.append_id || '","content":"'
                       || substr(%(text)s, 1 + (e.seq %% 97)::integer, %(chars)s) || '"}' end, 'UTF8'),
       case when e.is_first then '{}'::bytea end,
       case when e.is_first then jsonb_build_object('session_id', e.session_id, 'project_id', 'bench') else '{}'::jsonb end
  from (select s.seq, s.k < %(at_once)s as is_first, s.seq - s.k + s.k %% %(at_once)s as session_no,
               'ses_bench_' || (s.seq - s.k + s.k %% %(at_once)s) as session_id, 'filled-' || s.seq as append_id
          from (select seq, (seq - 1) %% %(block)s as k from generate_series(%(first)s::bigint, %(last)s::bigint) seq) s) e
 order by e.seq
"""


def fill(dsn: str, events: int) -> None:
    """Put events 1 … `events` into an empty log."""
    chunks = [(first, min(first + _CHUNK - 1, events)) for first in range(1, events + 1, _CHUNK)]
    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(_insert, dsn, first, last) for first, last in chunks]:
            done.result()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("select store.fold(1, %s)", [events])
        connection.execute("vacuum (analyze) store.log, store.sessions")
        connection.execute("checkpoint")


def session_ids(events: int, count: int) -> list[str]:
    """Return `count` sessions of a log of `events`, spread over the whole of it, each with all its messages."""
    numbers = [block * _BLOCK + 1 + place for block in range(events // _BLOCK) for place in range(AT_ONCE)]
    return [f"ses_bench_{numbers[len(numbers) * at // count]}" for at in range(count)]


def _insert(dsn: str, first: int, last: int) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("set local synchronous_commit = off")
        facts = {"text": text(SIZE_BYTES + 100).replace('"', "'"), "chars": SIZE_BYTES - 100, "at_once": AT_ONCE, "block": _BLOCK}
        connection.execute(_ROWS, {**facts, "first": first, "last": last})
