-- read_creation: what stands in the log of a session's creation and deletion. No row: no such session.
create or replace function store.read_creation(session_no bigint)
returns table (append_id text, created_at timestamptz, parent_id text, snapshot_seq bigint, up_to_seq bigint, deletion_seq bigint,
               deletion bytea, deleted_at timestamptz) language sql stable as $$
    select c.append_id, c.created_at, p.session_id, s.snapshot_seq, s.up_to_seq, d.seq, d.body, d.created_at
      from store.sessions s
      join store.log c on c.session_no = s.session_no and c.seq = s.session_no
      left join store.sessions p on p.session_no = s.parent_no
      left join store.log d on d.session_no = s.session_no and d.seq = s.deleted_seq
     where s.session_no = read_creation.session_no
$$;
