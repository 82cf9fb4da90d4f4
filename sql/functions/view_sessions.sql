-- view_sessions: what the view `sessions` shows; deleted ones are left out.
create or replace function store.view_sessions()
returns table (session_id text, project_id text, title text, agent_source text, meta json, message_count bigint, head_seq bigint,
               parent_session_id text, parent_snapshot_id text, tools text[], models text[], input_tokens bigint,
               output_tokens bigint, first_message_at timestamptz, last_message_at timestamptz, created_at timestamptz, updated_at timestamptz)
language sql stable as $$
    select s.session_id, s.project_id, s.title, s.agent_source, convert_from(s.meta, 'UTF8')::json, s.message_count, s.head_seq,
           p.session_id, 'snap_' || s.snapshot_seq, s.tools, s.models, s.input_tokens, s.output_tokens, s.first_message_at,
           s.last_message_at, s.created_at, s.updated_at
      from store.sessions s
      left join store.sessions p on p.session_no = s.parent_no
     where s.deleted_seq is null
$$;
