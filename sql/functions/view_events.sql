-- view_events: what the view `events` shows. Views for people read through functions, so that a rebuilt projection can be swapped
-- in beneath them and they keep their grants.
create or replace function store.view_events()
returns table (seq bigint, session_id text, kind text, append_id text, payload json, created_at timestamptz)
language sql stable as $$
    select l.seq, s.session_id, l.kind::text, l.append_id, convert_from(l.body, 'UTF8')::json, l.created_at
      from store.log l
      left join store.sessions s on s.session_no = l.session_no
$$;
