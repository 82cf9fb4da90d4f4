-- read_page: a session's messages with seq > after_seq, over its lineage, in seq order, at most max_count and max_bytes
-- (never below one). The caller knows the lineage, which never changes: parts of it in order, each a session and the seqs
-- (after, to] that are read of it. Rows: (head_seq, deleted_seq, part, seq, body, native, old_version), at least one; with nothing to read
-- its part is null. No row: no such session. Inlined by the planner, so that no row is copied on the way.
create or replace function store.read_page(
    session_no bigint, part_nos bigint[], part_afters bigint[], part_tos bigint[], max_count integer, max_bytes bigint, with_native boolean)
returns table (head_seq bigint, deleted_seq bigint, part bigint, seq bigint, body bytea, native bytea, old_version smallint)
language sql stable as $$
    select s.head_seq, s.deleted_seq, m.part, m.seq, m.body,
           case when read_page.with_native then (select n.native from store.natives n where n.seq = m.seq) end,
           nullif(m.version, 1)
      from store.sessions s
      left join lateral (
            select c.*, sum(octet_length(c.body)) over (rows unbounded preceding) as bytes,
                   row_number() over (rows unbounded preceding) as nth
              from (select p.part, l.seq, l.body, l.version
                      from unnest(read_page.part_nos, read_page.part_afters, read_page.part_tos)
                           with ordinality p (no, after_seq, to_seq, part)
                     cross join lateral (
                            select l.seq, l.body, l.version
                              from store.log l
                             where l.session_no = p.no and l.seq > p.after_seq and l.seq <= p.to_seq
                               and l.kind = 'message.appended'
                             order by l.seq
                             limit read_page.max_count) l
                     limit read_page.max_count) c
           ) m on m.bytes <= read_page.max_bytes or m.nth = 1
     where s.session_no = read_page.session_no
$$;
