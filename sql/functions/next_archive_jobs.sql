-- next_archive_jobs: snapshots that are to be archived now, oldest first: newer than any that was tried, left running by a worker
-- that died, or pending and due. The worker notes each job before the next, so none is without a note below the newest noted.
create or replace function store.next_archive_jobs(max_count integer)
returns table (snapshot_seq bigint, session_id text, up_to_seq bigint, retry_count integer) language sql stable as $$
    select n.snapshot_seq, s.session_id, n.up_to_seq, w.retry_count
      from (select f.snapshot_seq, 0 as retry_count
              from store.snapshots f
             where f.snapshot_seq > coalesce((select max(j.snapshot_seq) from store.archive_jobs j), 0)
            union all
            select j.snapshot_seq, j.retry_count
              from store.archive_jobs j
             where j.status = 'running' or (j.status = 'pending' and j.next_try_at <= clock_timestamp())) w
      join store.snapshots n on n.snapshot_seq = w.snapshot_seq
      join store.sessions s on s.session_no = n.session_no
     order by n.snapshot_seq
     limit next_archive_jobs.max_count
$$;
