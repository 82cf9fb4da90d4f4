-- read_page_at_head: the same as read_page, for a reader to whom few rows come, or none: its plan is made once and kept, which
-- costs less than half; in return each row is copied once more, so that a long page costs more.
-- Not stable: it would read with its caller's snapshot, which is older than what it waits for. Where that is a rebuilt table of
-- sessions, its last rows would be missing, and a reader who is told too early a head passes over messages.
create or replace function store.read_page_at_head(
    session_no bigint, part_nos bigint[], part_afters bigint[], part_tos bigint[], max_count integer, max_bytes bigint, with_native boolean)
returns table (head_seq bigint, deleted_seq bigint, part bigint, seq bigint, body bytea, native bytea, old_version smallint)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
    return query
    select * from store.read_page(
        read_page_at_head.session_no, read_page_at_head.part_nos, read_page_at_head.part_afters, read_page_at_head.part_tos,
        read_page_at_head.max_count, read_page_at_head.max_bytes, read_page_at_head.with_native);
end $$;
