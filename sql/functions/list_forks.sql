-- list_forks: the sessions forked from a session, in the order they were made; deleted ones are left out.
create or replace function store.list_forks(session_no bigint, max_count integer)
returns table (session_id text, project_id text, snapshot_seq bigint, up_to_seq bigint, created_at timestamptz)
language sql stable as $$
    select s.session_id, s.project_id, s.snapshot_seq, s.up_to_seq, s.created_at
      from store.sessions s
     where s.parent_no = list_forks.session_no and s.deleted_seq is null
     order by s.session_no
     limit list_forks.max_count
$$;
