-- read_events_at_head: what read_page_at_head is to read_page, to read_events; not stable either.
create or replace function store.read_events_at_head(
    session_no bigint, part_nos bigint[], part_afters bigint[], part_tos bigint[], max_count integer, max_bytes bigint)
returns table (head_seq bigint, deleted_seq bigint, part bigint, seq bigint, kind text, append_id text, body bytea, created_at timestamptz, old_version smallint)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
    return query
    select * from store.read_events(
        read_events_at_head.session_no, read_events_at_head.part_nos, read_events_at_head.part_afters, read_events_at_head.part_tos,
        read_events_at_head.max_count, read_events_at_head.max_bytes);
end $$;
