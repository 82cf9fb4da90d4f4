-- retry_archive_jobs: let what has failed, or waits for another try, be tried now. Returns how many.
create or replace function store.retry_archive_jobs() returns bigint language sql as $$
    with again as (
        update store.archive_jobs j
           set status = 'pending', retry_count = 0, next_try_at = clock_timestamp(), finished_at = null
         where j.status in ('failed', 'pending')
        returning 1
    )
    select count(*) from again
$$;
