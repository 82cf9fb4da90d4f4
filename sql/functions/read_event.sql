-- read_event: one event by its seq, with what was derived at its append; no row where there is none.
create or replace function store.read_event(seq bigint)
returns table (session_id text, kind text, append_id text, body bytea, meta bytea, facts text, created_at timestamptz)
language sql stable as $$
    select s.session_id, l.kind::text, l.append_id, l.body, l.meta, l.facts::text, l.created_at
      from store.log l
      join store.sessions s on s.session_no = l.session_no
     where l.seq + 0 = read_event.seq
$$;
