-- list_session_snapshots: a session's snapshots with after_seq < number <= up_to_seq, as the log has them.
create or replace function store.list_session_snapshots(session_no bigint, after_seq bigint, up_to_seq bigint)
returns table (seq bigint, append_id text, body bytea, created_at timestamptz) language sql stable as $$
    select l.seq, l.append_id, l.body, l.created_at
      from store.snapshots n
      join store.log l on l.session_no = n.session_no and l.seq = n.snapshot_seq
     where n.session_no = list_session_snapshots.session_no and n.snapshot_seq > list_session_snapshots.after_seq
       and n.snapshot_seq <= list_session_snapshots.up_to_seq
     order by n.snapshot_seq
$$;
