-- list_sessions: newest first, without deleted ones, older than `before_no` where given. Filters that are null do not filter;
-- `title_part` matches in any case, `since` and `before` the time something last happened.
create or replace function store.list_sessions(
    project_id text, agent text, title_part text, since timestamptz, before timestamptz, before_no bigint, max_count integer)
returns table (session_no bigint, session_id text, project_id text, meta bytea, head_seq bigint, last_seq bigint, message_count bigint,
               system_count bigint, user_count bigint, assistant_count bigint, tool_count bigint, snapshot_count bigint,
               fork_count bigint, input_tokens bigint, output_tokens bigint, tools text[], models text[],
               first_message_at timestamptz, last_message_at timestamptz, created_at timestamptz, updated_at timestamptz,
               parent_id text, snapshot_seq bigint)
language sql stable as $$
    select s.session_no, s.session_id, s.project_id, s.meta, s.head_seq, s.last_seq, s.message_count, s.system_count, s.user_count,
           s.assistant_count, s.tool_count, s.snapshot_count, s.fork_count, s.input_tokens, s.output_tokens, s.tools, s.models,
           s.first_message_at, s.last_message_at, s.created_at, s.updated_at, p.session_id, s.snapshot_seq
      from store.sessions s
      left join store.sessions p on p.session_no = s.parent_no
     where (list_sessions.project_id is null or s.project_id = list_sessions.project_id)
       and (list_sessions.agent is null or s.agent_source = list_sessions.agent)
       and (list_sessions.before_no is null or s.session_no < list_sessions.before_no)
       and (list_sessions.title_part is null or position(lower(list_sessions.title_part) in lower(s.title)) > 0)
       and (list_sessions.since is null or s.updated_at >= list_sessions.since)
       and (list_sessions.before is null or s.updated_at < list_sessions.before)
       and s.deleted_seq is null
     order by s.session_no desc
     limit list_sessions.max_count
$$;
