-- list_subagents: the sessions that a session started as sub-agents, in the order they came; deleted ones and forks are left out.
-- Known by the starter's id here, or by the one that its agent gave it.
create or replace function store.list_subagents(session_no bigint, native_id text, max_count integer)
returns table (session_id text, project_id text, created_at timestamptz)
language sql stable as $$
    select c.session_id, c.project_id, c.created_at
      from store.sessions s
      join store.sessions c on c.project_id = s.project_id
       and (c.starter = s.session_id or (c.starter = list_subagents.native_id and c.agent_source = s.agent_source))
     where s.session_no = list_subagents.session_no and c.session_no <> s.session_no and c.parent_no is null and c.deleted_seq is null
     order by c.session_no
     limit list_subagents.max_count
$$;
