-- sessions: one row a session, as its events leave it.
-- Folding a range twice is not the same as once: ranges must follow each other without gap or overlap.

create table if not exists tasuki.sessions (
    session_no    bigint primary key,
    session_id    text not null unique,
    project_id    text not null,
    title         text not null default '',
    agent_source  text,                      -- the agent that its messages come from, as its meta says
    meta          bytea not null,
    meta_seq      bigint not null,           -- last event that set meta
    head_seq      bigint not null,           -- last message over the lineage, 0 for none
    last_seq      bigint not null,           -- last event of its own
    message_count bigint not null default 0, -- its own, without what it inherits
    deleted_seq   bigint,
    created_at    timestamptz not null,
    updated_at    timestamptz not null,
    parent_no     bigint,
    snapshot_seq  bigint,                    -- the snapshot it was forked from
    up_to_seq     bigint,                    -- what it inherits
    lineage_nos   bigint[] not null,         -- ancestors that it reads, eldest first …
    lineage_tos   bigint[] not null          -- … each up to this seq, rising
) with (fillfactor = 70);
create index if not exists sessions_of_project on tasuki.sessions (project_id, session_no);
create index if not exists sessions_of_parent on tasuki.sessions (parent_no, session_no) where parent_no is not null;

create or replace function tasuki.fold_sessions(from_seq bigint, to_seq bigint) returns void language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
begin
    insert into tasuki.sessions as s (session_no, session_id, project_id, title, agent_source, meta, meta_seq, head_seq, last_seq,
        created_at, updated_at, parent_no, snapshot_seq, up_to_seq, lineage_nos, lineage_tos)
    select l.seq, l.facts ->> 'session_id', l.facts ->> 'project_id', coalesce(l.facts ->> 'title', ''), l.facts ->> 'agent_source', l.meta, l.seq,
           coalesce((l.facts ->> 'head_seq')::bigint, 0), l.seq, l.created_at, l.created_at,
           (l.facts ->> 'parent_no')::bigint, (l.facts ->> 'snapshot_seq')::bigint, (l.facts ->> 'up_to_seq')::bigint,
           coalesce((select array_agg(x::bigint order by o) from jsonb_array_elements_text(l.facts -> 'lineage_nos') with ordinality t(x, o)), '{}'),
           coalesce((select array_agg(x::bigint order by o) from jsonb_array_elements_text(l.facts -> 'lineage_tos') with ordinality t(x, o)), '{}')
      from tasuki.log l
     where l.seq + 0 between fold_sessions.from_seq and fold_sessions.to_seq
       and l.kind in ('session.created', 'session.forked');

    update tasuki.sessions s
       set head_seq      = greatest(s.head_seq, e.head_seq),
           last_seq      = e.last_seq,
           message_count = s.message_count + e.message_count,
           deleted_seq   = coalesce(s.deleted_seq, e.deleted_seq),
           updated_at    = e.updated_at,
           meta_seq      = coalesce(e.meta_seq, s.meta_seq),
           meta          = coalesce(m.meta, s.meta),
           title         = case when m.meta is null then s.title else coalesce(m.facts ->> 'title', '') end,
           agent_source  = case when m.meta is null then s.agent_source else m.facts ->> 'agent_source' end
      from (select l.session_no,
                   max(l.seq) filter (where l.kind = 'message.appended')     as head_seq,
                   max(l.seq)                                                as last_seq,
                   count(*) filter (where l.kind = 'message.appended')       as message_count,
                   min(l.seq) filter (where l.kind = 'session.deleted')      as deleted_seq,
                   max(l.seq) filter (where l.kind = 'session.meta_updated') as meta_seq,
                   max(l.created_at)                                         as updated_at
              from tasuki.log l
             where l.seq + 0 between fold_sessions.from_seq and fold_sessions.to_seq
               and l.kind not in ('session.created', 'session.forked', 'log.gap')
             group by l.session_no) e
      left join tasuki.log m on m.session_no = e.session_no and m.seq = e.meta_seq
     where s.session_no = e.session_no;
end $$;
