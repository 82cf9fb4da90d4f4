-- restore_events: put events back with the seqs that they had, a gap for each seq in between, and fold them. Only into what
-- follows the log's head: the caller brings them in order. For `tasuki restore` alone.
--   session_nos   seq of the event that created the session
-- A restored append_id is a repeat whatever the body: its hash is a secret of the log that was lost.
create or replace function store.restore_events(
    seqs bigint[], session_nos bigint[], kinds text[], roles text[], append_ids text[], append_keys bytea[], bodies bytea[],
    natives bytea[], metas bytea[], facts text[], said_ats timestamptz[], created_ats timestamptz[])
returns bigint language plpgsql as $$
declare
    _last bigint;
    _new  bigint := seqs[array_length(seqs, 1)];
begin
    perform store.lock_log();
    _last := store.last_seq();
    insert into store.log (session_no, seq, created_at, writer_no, kind, append_key, append_id, body)
    select 0, g.seq, clock_timestamp(), 0, 'log.gap', substr(sha256(convert_to('gap ' || g.seq, 'UTF8')), 1, 16), '', '{}'
      from generate_series(_last + 1, _new) g (seq)
     where g.seq <> all (seqs)
     order by g.seq;
    insert into store.log (session_no, seq, created_at, said_at, writer_no, kind, role, append_key, append_id, body, meta, facts)
    select e.session_no, e.seq, e.created_at, e.said_at, 0, e.kind::store.event_kind, e.role::store.message_role, e.append_key,
           e.append_id, e.body, e.meta, e.fact::jsonb
      from unnest(seqs, session_nos, created_ats, said_ats, kinds, roles, append_keys, append_ids, bodies, metas, facts)
           e (seq, session_no, created_at, said_at, kind, role, append_key, append_id, body, meta, fact)
     order by e.seq;
    insert into store.natives (seq, native)
    select e.seq, e.native from unnest(seqs, natives) e (seq, native) where e.native is not null order by e.seq;
    perform store.fold(_last + 1, _new);
    return _new;
end $$;
