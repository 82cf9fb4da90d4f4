-- list_snapshots: snapshots in the order they were made, after `after_seq`; of one session, or of all (session_no null). At most
-- max_count; those behind 4 MiB of payload, a page, stay where they are but for the first of them, which shows that there are more.
create or replace function store.list_snapshots(session_no bigint, after_seq bigint, max_count integer)
returns table (snapshot_seq bigint, session_id text, up_to_seq bigint, body bytea, created_at timestamptz)
language sql stable as $$
    select c.snapshot_seq, c.session_id, c.up_to_seq, c.body, c.created_at
      from (select f.*, sum(octet_length(f.body)) over (order by f.snapshot_seq) - octet_length(f.body) as bytes_before
              from (select n.snapshot_seq, s.session_id, n.up_to_seq, l.body, n.created_at
                      from store.snapshots n
                      join store.sessions s on s.session_no = n.session_no
                      join store.log l on l.session_no = n.session_no and l.seq = n.snapshot_seq
                     where (list_snapshots.session_no is null or n.session_no = list_snapshots.session_no)
                       and n.snapshot_seq > list_snapshots.after_seq
                       and s.deleted_seq is null
                     order by n.snapshot_seq
                     limit list_snapshots.max_count) f
           ) c
     where c.bytes_before <= 4 * 1024 * 1024
     order by c.snapshot_seq
$$;
