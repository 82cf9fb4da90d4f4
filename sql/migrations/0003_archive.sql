-- what the archive worker remembers of its own work. That a job exists is told by the snapshots view; this is never touched by a
-- rebuild and can be told again from the archive's tags.
create table store.archive_jobs (
    snapshot_seq bigint primary key,
    status       text not null check (status in ('pending', 'running', 'done', 'failed')),
    retry_count  integer not null default 0,
    last_error   text,
    next_try_at  timestamptz not null default clock_timestamp(),
    finished_at  timestamptz,
    commit_id    text
);
create index archive_jobs_open on store.archive_jobs (next_try_at) where status <> 'done';

-- how the remote is; one row
create table store.archive_remote (
    one         boolean primary key default true check (one),
    pushed_id   text,              -- main's commit that the remote has
    retry_count integer not null default 0,
    last_error  text,
    pushed_at   timestamptz,
    generation  integer not null default 1  -- counts up when the archive has to be made anew
);
insert into store.archive_remote default values;
