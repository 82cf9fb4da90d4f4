-- view_messages: what the view `messages` shows: each session's own messages, purged ones too (their parts are null).
create or replace function store.view_messages()
returns table (session_id text, seq bigint, append_id text, role text, content json, tool_calls json, tool_call_id text, thinking json,
               metadata json, said_at timestamptz, created_at timestamptz)
language sql stable as $$
    select s.session_id, l.seq, l.append_id, l.role::text, j.payload -> 'content', j.payload -> 'tool_calls',
           j.payload ->> 'tool_call_id', j.payload -> 'thinking', j.payload -> 'metadata', l.said_at, l.created_at
      from store.log l
      join store.sessions s on s.session_no = l.session_no
     cross join lateral (select store.readable(l.body) as payload) j
     where l.kind = 'message.appended' and s.deleted_seq is null
$$;
