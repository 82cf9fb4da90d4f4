-- list_sessions: newest first, without deleted ones, older than `before_no` where given; `title_part` matches in any case.
create or replace function tasuki.list_sessions(project_id text, title_part text, before_no bigint, max_count integer)
returns table (session_no bigint, session_id text, project_id text, meta bytea, head_seq bigint, last_seq bigint, message_count bigint,
               created_at timestamptz, updated_at timestamptz, parent_id text, snapshot_seq bigint)
language sql stable as $$
    select s.session_no, s.session_id, s.project_id, s.meta, s.head_seq, s.last_seq, s.message_count, s.created_at, s.updated_at,
           p.session_id, s.snapshot_seq
      from tasuki.sessions s
      left join tasuki.sessions p on p.session_no = s.parent_no
     where (list_sessions.project_id is null or s.project_id = list_sessions.project_id)
       and (list_sessions.before_no is null or s.session_no < list_sessions.before_no)
       and (list_sessions.title_part is null or position(lower(list_sessions.title_part) in lower(s.title)) > 0)
       and s.deleted_seq is null
     order by s.session_no desc
     limit list_sessions.max_count
$$;
