-- list_sessions: newest first, without deleted ones, older than `before_no` where given. Filters that are null do not filter;
-- `title_part` matches in any case, `since` and `before` the time something last happened. At most max_count rows; those behind
-- 4 MiB of meta, a page, stay where they are but for the first of them, which shows that there are more.
create or replace function store.list_sessions(
    project_id text, agent text, title_part text, since timestamptz, before timestamptz, before_no bigint, max_count integer)
returns table (session_no bigint, session_id text, project_id text, meta bytea, head_seq bigint, last_seq bigint, message_count bigint,
               system_count bigint, user_count bigint, assistant_count bigint, tool_count bigint, snapshot_count bigint,
               fork_count bigint, input_tokens bigint, output_tokens bigint, tools text[], models text[],
               first_message_at timestamptz, last_message_at timestamptz, created_at timestamptz, updated_at timestamptz,
               parent_id text, snapshot_seq bigint)
language sql stable as $$
    select c.session_no, c.session_id, c.project_id, c.meta, c.head_seq, c.last_seq, c.message_count, c.system_count, c.user_count,
           c.assistant_count, c.tool_count, c.snapshot_count, c.fork_count, c.input_tokens, c.output_tokens, c.tools, c.models,
           c.first_message_at, c.last_message_at, c.created_at, c.updated_at, p.session_id, c.snapshot_seq
      from (select f.*, sum(octet_length(f.meta)) over (order by f.session_no desc) - octet_length(f.meta) as bytes_before
              from (select s.*
                      from store.sessions s
                     where (list_sessions.project_id is null or s.project_id = list_sessions.project_id)
                       and (list_sessions.agent is null or s.agent_source = list_sessions.agent)
                       and (list_sessions.before_no is null or s.session_no < list_sessions.before_no)
                       and (list_sessions.title_part is null or position(lower(list_sessions.title_part) in lower(s.title)) > 0)
                       and (list_sessions.since is null or s.updated_at >= list_sessions.since)
                       and (list_sessions.before is null or s.updated_at < list_sessions.before)
                       and s.deleted_seq is null
                     order by s.session_no desc
                     limit list_sessions.max_count) f
           ) c
      left join store.sessions p on p.session_no = c.parent_no
     where c.bytes_before <= 4 * 1024 * 1024
     order by c.session_no desc
$$;
