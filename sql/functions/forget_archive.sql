-- forget_archive: every snapshot is to be archived anew, into a new repository: what was purged must not stay in the old one.
create or replace function store.forget_archive() returns void language plpgsql as $$
begin
    update store.archive_remote set generation = generation + 1;
    delete from store.archive_jobs;
end $$;
