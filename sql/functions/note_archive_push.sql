-- note_archive_push: what became of a push; pushed_id null: it failed with last_error.
create or replace function store.note_archive_push(pushed_id text, last_error text) returns integer language sql as $$
    update store.archive_remote r
       set pushed_id   = coalesce(note_archive_push.pushed_id, r.pushed_id),
           retry_count = case when note_archive_push.pushed_id is null then r.retry_count + 1 else 0 end,
           last_error  = note_archive_push.last_error,
           pushed_at   = case when note_archive_push.pushed_id is null then r.pushed_at else clock_timestamp() end
    returning r.retry_count
$$;
