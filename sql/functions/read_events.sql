-- read_events: like read_page, every kind of event; of ancestors only what is inherited, messages and native records.
-- head_seq is the seq of the session's last event of any kind.
create or replace function store.read_events(
    session_no bigint, part_nos bigint[], part_afters bigint[], part_tos bigint[], max_count integer, max_bytes bigint)
returns table (head_seq bigint, deleted_seq bigint, part bigint, seq bigint, kind text, append_id text, body bytea, created_at timestamptz, old_version smallint)
language sql stable as $$
    select s.last_seq, s.deleted_seq, m.part, m.seq, m.kind::text, m.append_id, m.body, m.created_at, nullif(m.version, 1)
      from store.sessions s
      left join lateral (
            select c.*, sum(octet_length(c.body)) over (rows unbounded preceding) as bytes,
                   row_number() over (rows unbounded preceding) as nth
              from (select p.part, l.seq, l.kind, l.append_id, l.body, l.created_at, l.version
                      from unnest(read_events.part_nos, read_events.part_afters, read_events.part_tos)
                           with ordinality p (no, after_seq, to_seq, part)
                     cross join lateral (
                            select l.seq, l.kind, l.append_id, l.body, l.created_at, l.version
                              from store.log l
                             where l.session_no = p.no and l.seq > p.after_seq and l.seq <= p.to_seq
                               and (p.no = read_events.session_no or l.kind in ('message.appended', 'native.recorded'))
                             order by l.seq
                             limit read_events.max_count) l
                     limit read_events.max_count) c
           ) m on m.bytes <= read_events.max_bytes or m.nth = 1
     where s.session_no = read_events.session_no
$$;
