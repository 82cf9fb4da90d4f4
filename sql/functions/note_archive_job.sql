-- note_archive_job: what became of a job. `again_in_s`: for a pending one, when it is tried again.
create or replace function store.note_archive_job(
    snapshot_seq bigint, status text, retry_count integer, last_error text, again_in_s double precision, commit_id text)
returns void language sql as $$
    insert into store.archive_jobs as j (snapshot_seq, status, retry_count, last_error, next_try_at, finished_at, commit_id)
    values (note_archive_job.snapshot_seq, note_archive_job.status, note_archive_job.retry_count, note_archive_job.last_error,
            clock_timestamp() + make_interval(secs => note_archive_job.again_in_s),
            case when note_archive_job.status in ('done', 'failed') then clock_timestamp() end, note_archive_job.commit_id)
    on conflict on constraint archive_jobs_pkey do update
       set status = excluded.status, retry_count = excluded.retry_count, last_error = excluded.last_error,
           next_try_at = excluded.next_try_at, finished_at = excluded.finished_at, commit_id = excluded.commit_id
$$;
