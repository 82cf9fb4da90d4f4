-- view_snapshots: what the view `snapshots` shows.
create or replace function store.view_snapshots()
returns table (snapshot_id text, session_id text, up_to_seq bigint, commit_msg text, meta json, created_at timestamptz)
language sql stable as $$
    select 'snap_' || n.snapshot_seq, s.session_id, n.up_to_seq, l.facts ->> 'commit_msg', store.readable(l.body) -> 'meta',
           n.created_at
      from store.snapshots n
      join store.sessions s on s.session_no = n.session_no
      join store.log l on l.session_no = n.session_no and l.seq = n.snapshot_seq
     where s.deleted_seq is null
$$;
