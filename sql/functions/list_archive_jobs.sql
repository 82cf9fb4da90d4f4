-- list_archive_jobs: every snapshot with how its archiving is, newest first, before `before_seq` where given.
create or replace function store.list_archive_jobs(status text, before_seq bigint, max_count integer)
returns table (snapshot_seq bigint, session_id text, up_to_seq bigint, status text, retry_count integer, last_error text,
               finished_at timestamptz, commit_id text) language sql stable as $$
    select n.snapshot_seq, s.session_id, n.up_to_seq, coalesce(j.status, 'pending'), coalesce(j.retry_count, 0), j.last_error,
           j.finished_at, j.commit_id
      from store.snapshots n
      join store.sessions s on s.session_no = n.session_no
      left join store.archive_jobs j on j.snapshot_seq = n.snapshot_seq
     where (list_archive_jobs.status is null or coalesce(j.status, 'pending') = list_archive_jobs.status)
       and (list_archive_jobs.before_seq is null or n.snapshot_seq < list_archive_jobs.before_seq)
     order by n.snapshot_seq desc
     limit list_archive_jobs.max_count
$$;
