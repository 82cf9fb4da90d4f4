-- find_session: a session's row by id; no row where there is none. Deleted ones are found too.
create or replace function tasuki.find_session(session_id text)
returns table (session_no bigint, project_id text, meta bytea, meta_seq bigint, head_seq bigint, last_seq bigint,
               message_count bigint, deleted_seq bigint, created_at timestamptz, updated_at timestamptz, parent_no bigint,
               snapshot_seq bigint, up_to_seq bigint, lineage_nos bigint[], lineage_tos bigint[], lineage_ids text[],
               agent_source text)
language sql stable as $$
    select s.session_no, s.project_id, s.meta, s.meta_seq, s.head_seq, s.last_seq, s.message_count, s.deleted_seq,
           s.created_at, s.updated_at, s.parent_no, s.snapshot_seq, s.up_to_seq, s.lineage_nos, s.lineage_tos,
           array(select a.session_id from unnest(s.lineage_nos) with ordinality n (no, o)
                   join tasuki.sessions a on a.session_no = n.no order by n.o),
           s.agent_source
      from tasuki.sessions s
     where s.session_id = find_session.session_id
$$;
