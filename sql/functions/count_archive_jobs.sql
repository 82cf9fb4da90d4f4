-- count_archive_jobs: how many snapshots are in each state, and how the remote is.
create or replace function store.count_archive_jobs()
returns table (pending bigint, running bigint, done bigint, failed bigint, pushed_id text, push_error text, pushed_at timestamptz)
language sql stable as $$
    select count(*) filter (where coalesce(j.status, 'pending') = 'pending'), count(*) filter (where j.status = 'running'),
           count(*) filter (where j.status = 'done'), count(*) filter (where j.status = 'failed'),
           (select r.pushed_id from store.archive_remote r), (select r.last_error from store.archive_remote r),
           (select r.pushed_at from store.archive_remote r)
      from store.snapshots n
      left join store.archive_jobs j on j.snapshot_seq = n.snapshot_seq
$$;
