-- find_session: a session's row by id; no row where there is none. Deleted ones are found too.
create or replace function store.find_session(session_id text)
returns table (session_no bigint, project_id text, agent_source text, meta bytea, meta_seq bigint, head_seq bigint, last_seq bigint,
               message_count bigint, system_count bigint, user_count bigint, assistant_count bigint, tool_count bigint,
               snapshot_count bigint, fork_count bigint, input_tokens bigint, output_tokens bigint, tools text[], models text[],
               first_message_at timestamptz, last_message_at timestamptz, created_at timestamptz, updated_at timestamptz,
               deleted_seq bigint, parent_no bigint, snapshot_seq bigint, up_to_seq bigint, lineage_nos bigint[],
               lineage_tos bigint[], lineage_ids text[])
language sql stable as $$
    select s.session_no, s.project_id, s.agent_source, s.meta, s.meta_seq, s.head_seq, s.last_seq, s.message_count, s.system_count,
           s.user_count, s.assistant_count, s.tool_count, s.snapshot_count, s.fork_count, s.input_tokens, s.output_tokens, s.tools,
           s.models, s.first_message_at, s.last_message_at, s.created_at, s.updated_at, s.deleted_seq, s.parent_no,
           s.snapshot_seq, s.up_to_seq, s.lineage_nos, s.lineage_tos,
           array(select a.session_id from unnest(s.lineage_nos) with ordinality n (no, o)
                   join store.sessions a on a.session_no = n.no order by n.o)
      from store.sessions s
     where s.session_id = find_session.session_id
$$;
