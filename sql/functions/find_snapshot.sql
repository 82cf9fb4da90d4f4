-- find_snapshot: a snapshot by its number, with its session; no row where there is none.
create or replace function store.find_snapshot(snapshot_seq bigint)
returns table (session_id text, session_no bigint, up_to_seq bigint, deleted_seq bigint, body bytea, created_at timestamptz)
language sql stable as $$
    select s.session_id, n.session_no, n.up_to_seq, s.deleted_seq, l.body, n.created_at
      from store.snapshots n
      join store.sessions s on s.session_no = n.session_no
      join store.log l on l.session_no = n.session_no and l.seq = n.snapshot_seq
     where n.snapshot_seq = find_snapshot.snapshot_seq
$$;
