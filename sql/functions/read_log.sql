-- read_log: the whole log with seq > after_seq, in order, at most max_count events and max_bytes of payload (never below one).
create or replace function store.read_log(after_seq bigint, max_count integer, max_bytes bigint)
returns table (head_seq bigint, seq bigint, session_id text, kind text, append_id text, body bytea, created_at timestamptz, old_version smallint)
language sql stable as $$
    select h.head_seq, e.seq, (select s.session_id from store.sessions s where s.session_no = e.session_no), e.kind::text, e.append_id, e.body, e.created_at, nullif(e.version, 1)
      from (select store.last_seq() as head_seq) h
      left join lateral (
            select c.*, sum(octet_length(c.body)) over (rows unbounded preceding) as bytes,
                   row_number() over (rows unbounded preceding) as nth
              from (select l.seq, l.session_no, l.kind, l.append_id, l.body, l.created_at, l.version
                      from store.log l
                     where l.seq + 0 > read_log.after_seq
                     order by l.seq + 0
                     limit read_log.max_count) c
           ) e on e.bytes <= read_log.max_bytes or e.nth = 1
$$;
