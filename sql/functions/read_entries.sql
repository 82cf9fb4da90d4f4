-- read_entries: a session's own messages and native records with after_seq < seq <= up_to_seq, in order, at most max_count and
-- max_bytes (never below one).
create or replace function store.read_entries(
    session_no bigint, after_seq bigint, up_to_seq bigint, max_count integer, max_bytes bigint)
returns table (seq bigint, kind text, append_id text, body bytea, native bytea, created_at timestamptz, old_version smallint)
language sql stable as $$
    select e.seq, e.kind::text, e.append_id, e.body, n.native, e.created_at, nullif(e.version, 1)
      from (select c.*, sum(octet_length(c.body)) over (order by c.seq) as bytes, row_number() over (order by c.seq) as nth
              from (select l.seq, l.kind, l.append_id, l.body, l.created_at, l.version
                      from store.log l
                     where l.session_no = read_entries.session_no and l.seq > read_entries.after_seq
                       and l.seq <= read_entries.up_to_seq and l.kind in ('message.appended', 'native.recorded')
                     order by l.seq
                     limit read_entries.max_count) c) e
      left join store.natives n on n.seq = e.seq
     where e.bytes <= read_entries.max_bytes or e.nth = 1
     order by e.seq
$$;
