-- list_snapshots: snapshots in the order they were made, after `after_seq`; of one session, or of all (session_no null).
create or replace function store.list_snapshots(session_no bigint, after_seq bigint, max_count integer)
returns table (snapshot_seq bigint, session_id text, up_to_seq bigint, body bytea, created_at timestamptz)
language sql stable as $$
    select n.snapshot_seq, s.session_id, n.up_to_seq, l.body, n.created_at
      from store.snapshots n
      join store.sessions s on s.session_no = n.session_no
      join store.log l on l.session_no = n.session_no and l.seq = n.snapshot_seq
     where (list_snapshots.session_no is null or n.session_no = list_snapshots.session_no)
       and n.snapshot_seq > list_snapshots.after_seq
       and s.deleted_seq is null
     order by n.snapshot_seq
     limit list_snapshots.max_count
$$;
