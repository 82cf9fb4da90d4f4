-- sessions, version 4: one row a session, as its events leave it.
-- The table and its fold are named without a schema: a rebuild makes both beside the live ones and swaps them.
-- Ranges must follow each other without gap or overlap. Reads derived facts only, never a payload.

create table sessions (
    session_no      bigint primary key,
    session_id      text not null unique,
    project_id      text not null,
    title           text not null default '',
    agent_source    text,                      -- the agent that its messages come from, as its meta says
    starter         text,                      -- the session that started it as a sub-agent: our id of it, or its agent's
    meta            bytea not null,
    meta_seq        bigint not null,           -- last event that set meta
    head_seq        bigint not null,           -- last message over the lineage, 0 for none
    last_seq        bigint not null,           -- last event of its own
    message_count   bigint not null default 0, -- its own, without what it inherits; the next four too
    system_count    bigint not null default 0,
    user_count      bigint not null default 0,
    assistant_count bigint not null default 0,
    tool_count      bigint not null default 0,
    snapshot_count  bigint not null default 0,
    fork_count      bigint not null default 0,
    input_tokens    bigint not null default 0, -- where messages say so; of a reply's messages, which each repeat it, once
    output_tokens   bigint not null default 0,
    reply_id        text,                      -- of the newest message of a reply, and what it counted
    reply_input     bigint not null default 0,
    reply_output    bigint not null default 0,
    tools           text[] not null default '{}', -- names of tools called, sorted, at most 200
    models          text[] not null default '{}',
    first_message_at timestamptz,
    last_message_at  timestamptz,
    deleted_seq     bigint,
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    parent_no       bigint,
    snapshot_seq    bigint,                    -- the snapshot it was forked from
    up_to_seq       bigint,                    -- what it inherits
    lineage_nos     bigint[] not null,         -- ancestors that it reads, eldest first …
    lineage_tos     bigint[] not null          -- … each up to this seq, rising
) with (fillfactor = 70);
create index sessions_of_project on sessions (project_id, session_no);
create index sessions_of_parent on sessions (parent_no, session_no) where parent_no is not null;
create index sessions_of_starter on sessions (project_id, starter, session_no) where starter is not null;

create function fold_sessions(from_seq bigint, to_seq bigint) returns void language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
    _one     record;
    _creates boolean;
    _replies boolean;
begin
    if from_seq = to_seq then  -- one message alone, as most are, in half the time
        select l.session_no, l.kind, l.role, l.facts, l.created_at into _one from store.log l where l.seq + 0 = to_seq;
        if _one.kind = 'message.appended' and not _one.facts ?| array['reply_id', 'tools'] then
            update sessions s
               set head_seq         = greatest(s.head_seq, to_seq),
                   last_seq         = to_seq,
                   message_count    = s.message_count + 1,
                   system_count     = s.system_count + (_one.role = 'system')::integer,
                   user_count       = s.user_count + (_one.role = 'user')::integer,
                   assistant_count  = s.assistant_count + (_one.role = 'assistant')::integer,
                   tool_count       = s.tool_count + (_one.role = 'tool')::integer,
                   input_tokens     = s.input_tokens + coalesce((_one.facts ->> 'input_tokens')::bigint, 0),
                   output_tokens    = s.output_tokens + coalesce((_one.facts ->> 'output_tokens')::bigint, 0),
                   models           = case when not _one.facts ? 'model' or _one.facts ->> 'model' = any (s.models) then s.models
                                           else store.merge_names(s.models, array[_one.facts ->> 'model']) end,
                   first_message_at = least(s.first_message_at, _one.created_at),
                   last_message_at  = greatest(s.last_message_at, _one.created_at),
                   updated_at       = greatest(s.updated_at, _one.created_at)
             where s.session_no = _one.session_no;
            return;
        end if;
    end if;

    select bool_or(l.kind in ('session.created', 'session.forked')), bool_or(l.facts ? 'reply_id') into _creates, _replies
      from store.log l
     where l.seq + 0 between fold_sessions.from_seq and fold_sessions.to_seq;

    if _creates then
        insert into sessions (session_no, session_id, project_id, title, agent_source, starter, meta, meta_seq, head_seq,
            last_seq, created_at, updated_at, parent_no, snapshot_seq, up_to_seq, lineage_nos, lineage_tos)
        select l.seq, l.facts ->> 'session_id', l.facts ->> 'project_id', coalesce(l.facts ->> 'title', ''), l.facts ->> 'agent_source',
               l.facts ->> 'starter', l.meta, l.seq, coalesce((l.facts ->> 'head_seq')::bigint, 0), l.seq, l.created_at, l.created_at,
               (l.facts ->> 'parent_no')::bigint, (l.facts ->> 'snapshot_seq')::bigint, (l.facts ->> 'up_to_seq')::bigint,
               coalesce((select array_agg(x::bigint order by o) from jsonb_array_elements_text(l.facts -> 'lineage_nos') with ordinality t(x, o)), '{}'),
               coalesce((select array_agg(x::bigint order by o) from jsonb_array_elements_text(l.facts -> 'lineage_tos') with ordinality t(x, o)), '{}')
          from store.log l
         where l.seq + 0 between fold_sessions.from_seq and fold_sessions.to_seq
           and l.kind in ('session.created', 'session.forked');

        update sessions s
           set fork_count = s.fork_count + f.forks
          from (select (l.facts ->> 'parent_no')::bigint as parent_no, count(*) as forks
                  from store.log l
                 where l.seq + 0 between fold_sessions.from_seq and fold_sessions.to_seq and l.kind = 'session.forked'
                 group by 1) f
         where s.session_no = f.parent_no;
    end if;

    update sessions s
       set head_seq         = greatest(s.head_seq, e.head_seq),
           last_seq         = e.last_seq,
           message_count    = s.message_count + e.message_count,
           system_count     = s.system_count + e.system_count,
           user_count       = s.user_count + e.user_count,
           assistant_count  = s.assistant_count + e.assistant_count,
           tool_count       = s.tool_count + e.tool_count,
           snapshot_count   = s.snapshot_count + e.snapshot_count,
           input_tokens     = s.input_tokens + e.input_tokens,
           output_tokens    = s.output_tokens + e.output_tokens,
           tools            = case when e.tools is null or e.tools <@ s.tools then s.tools else store.merge_names(s.tools, e.tools) end,
           models           = case when e.models is null or e.models <@ s.models then s.models else store.merge_names(s.models, e.models) end,
           first_message_at = least(s.first_message_at, e.first_message_at),
           last_message_at  = greatest(s.last_message_at, e.last_message_at),
           deleted_seq      = coalesce(s.deleted_seq, e.deleted_seq),
           updated_at       = greatest(s.updated_at, e.updated_at),
           meta_seq         = coalesce(e.meta_seq, s.meta_seq),
           meta             = coalesce(m.meta, s.meta),
           title            = case when m.meta is null then s.title else coalesce(m.facts ->> 'title', '') end,
           agent_source     = case when m.meta is null then s.agent_source else m.facts ->> 'agent_source' end,
           starter          = case when m.meta is null then s.starter else m.facts ->> 'starter' end
      from (select l.session_no,
                   max(l.seq) filter (where l.kind = 'message.appended')           as head_seq,
                   max(l.seq)                                                      as last_seq,
                   count(*) filter (where l.kind = 'message.appended')             as message_count,
                   count(*) filter (where l.role = 'system')                       as system_count,
                   count(*) filter (where l.role = 'user')                         as user_count,
                   count(*) filter (where l.role = 'assistant')                    as assistant_count,
                   count(*) filter (where l.role = 'tool')                         as tool_count,
                   count(*) filter (where l.kind = 'snapshot.created')             as snapshot_count,
                   coalesce(sum((l.facts ->> 'input_tokens')::bigint) filter (where not l.facts ? 'reply_id'), 0)::bigint  as input_tokens,
                   coalesce(sum((l.facts ->> 'output_tokens')::bigint) filter (where not l.facts ? 'reply_id'), 0)::bigint as output_tokens,
                   store.flat_names(jsonb_agg(l.facts -> 'tools') filter (where l.facts ? 'tools')) as tools,
                   array_agg(distinct l.facts ->> 'model') filter (where l.facts ? 'model')         as models,
                   min(l.created_at) filter (where l.kind = 'message.appended')    as first_message_at,
                   max(l.created_at) filter (where l.kind = 'message.appended')    as last_message_at,
                   min(l.seq) filter (where l.kind = 'session.deleted')            as deleted_seq,
                   max(l.seq) filter (where l.kind = 'session.meta_updated')       as meta_seq,
                   max(l.created_at)                                               as updated_at
              from store.log l
             where l.seq + 0 between fold_sessions.from_seq and fold_sessions.to_seq
               and l.kind not in ('session.created', 'session.forked', 'log.gap')
             group by l.session_no) e
      left join store.log m on m.session_no = e.session_no and m.seq = e.meta_seq
     where s.session_no = e.session_no;

    if _replies then  -- the last message of a run counts for all of it; one that goes on replaces what was counted
        update sessions s
           set input_tokens  = s.input_tokens + r.input_tokens - case when s.reply_id = r.first_id then s.reply_input else 0 end,
               output_tokens = s.output_tokens + r.output_tokens - case when s.reply_id = r.first_id then s.reply_output else 0 end,
               reply_id      = r.last_id,
               reply_input   = r.last_input,
               reply_output  = r.last_output
          from (select m.session_no,
                       sum(m.input_tokens) filter (where m.is_last)::bigint  as input_tokens,
                       sum(m.output_tokens) filter (where m.is_last)::bigint as output_tokens,
                       (array_agg(m.reply_id order by m.seq))[1]             as first_id,
                       (array_agg(m.reply_id order by m.seq desc))[1]        as last_id,
                       (array_agg(m.input_tokens order by m.seq desc))[1]    as last_input,
                       (array_agg(m.output_tokens order by m.seq desc))[1]   as last_output
                  from (select l.session_no, l.seq, l.facts ->> 'reply_id'                as reply_id,
                               coalesce((l.facts ->> 'input_tokens')::bigint, 0)          as input_tokens,
                               coalesce((l.facts ->> 'output_tokens')::bigint, 0)         as output_tokens,
                               lead(l.facts ->> 'reply_id') over (partition by l.session_no order by l.seq)
                                   is distinct from l.facts ->> 'reply_id'                as is_last
                          from store.log l
                         where l.seq + 0 between fold_sessions.from_seq and fold_sessions.to_seq
                           and l.facts ? 'reply_id') m
                 group by m.session_no) r
         where s.session_no = r.session_no;
    end if;
end $$;
