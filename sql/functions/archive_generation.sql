-- archive_generation: which repository the archive's jobs are about; it counts up when the archive has to be made anew.
create or replace function store.archive_generation() returns integer language sql stable as $$
    select r.generation from store.archive_remote r
$$;
