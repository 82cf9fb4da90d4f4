-- append_events: append a batch of requests in one round trip and one commit; each request stands or falls alone, whole.
-- Takes the one append lock first, so that seq is dense and commit order is seq order; nothing that can wait is done
-- while it is held: items of over 64 KiB are compressed before, in a table of their own. Arrays run in parallel, an item each; items of one request share its number in `requests`.
--   session_ids   the session written to, or forked from; null: a session is created
--   new_ids       the id of the session that the item creates; else null
--   bodies        null: too large to be kept, only its being a repeat is looked at
-- Within a batch no two requests may depend on each other: append ids differ, a request that looks at the session's state
-- (expected_*, creation, deletion, meta) is the only one of that session. The committer sees to it.
-- Replay: an item whose key is there already is a repeat: nothing is written and its first seq comes back.
-- Returns one row an item, in order: its seq, or the reason why its request was refused.
-- Raises 55P03 when the lock was not free in time (lock_timeout).
-- One plan is kept for each statement, here and in the folds: planned anew for each call, a lone append takes 1.7 times the CPU.
create or replace function store.append_events(
    requests integer[], session_ids text[], new_ids text[], kinds text[], roles text[], append_ids text[],
    append_keys bytea[], body_hashes bytea[], bodies bytea[], natives bytea[], metas bytea[], facts text[],
    said_ats timestamptz[], writer_nos integer[], versions integer[], expected_heads bigint[], expected_metas bigint[])
returns table (item integer, seq bigint, is_repeat boolean, refused text, head_seq bigint, created_at timestamptz)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    _last bigint;
    _now  timestamptz;
    _new  bigint;
    _is_large boolean := pg_column_size(bodies) + pg_column_size(natives) > 65536;
    _places tid[];  -- of each item that is staged
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'append_events must run in READ COMMITTED' using errcode = 'TK500';
    end if;
    if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    if _is_large then
        with staged as (
            insert into store.staged (item, body, native)
            select i.item, i.body, i.native
              from unnest(bodies, natives) with ordinality i (body, native, item)
             where octet_length(i.body) + coalesce(octet_length(i.native), 0) > 65536
            returning ctid, item
        )
        select array_agg(s.ctid order by i) into _places
          from generate_subscripts(requests, 1) i left join staged s on s.item = i;
    end if;
    perform store.lock_log();
    _last := store.last_seq();
    _now := clock_timestamp();

    return query
    with given as (
        select i.item::integer, i.request, i.session_id, i.new_id, i.append_key, i.body_hash, i.is_kept, i.expected_head,
               i.expected_meta, s.session_no, s.head_seq, s.meta_seq, s.deleted_seq, old.seq as old_seq,
               old.body_hash as old_hash, old.created_at as old_created_at
          from (select * from unnest(requests, session_ids, new_ids, append_keys, body_hashes, expected_heads, expected_metas,
                                     array(select b is not null from unnest(bodies) b))
                  with ordinality) i (request, session_id, new_id, append_key, body_hash, expected_head, expected_meta, is_kept, item)
          left join store.log old on old.append_key = i.append_key
          left join store.sessions s on s.session_id = i.session_id
    ), judged as (
        select g.*, case
                   when g.old_seq is not null and g.old_hash <> g.body_hash then 'append_id_reused'
                   when g.old_seq is not null then null
                   when g.session_id is not null and g.session_no is null then 'session_not_found'
                   when g.deleted_seq is not null then 'session_deleted'
                   when g.expected_head <> g.head_seq then 'seq_conflict'
                   when g.expected_meta <> g.meta_seq then 'meta_contended'
                   when not g.is_kept then 'too_large'
               end as refused
          from given g
    ), decided as (
        select j.*, j.old_seq is null and not bool_or(j.refused is not null) over (partition by j.request) as is_new from judged j
    ), numbered as (
        select d.*, case when d.is_new then _last + count(*) filter (where d.is_new) over (order by d.item rows unbounded preceding) end as new_seq
          from decided d
    ), kept as (
        insert into store.log (session_no, seq, created_at, said_at, writer_no, version, kind, role, append_key, body_hash, append_id,
                                body, meta, facts)
        select case when n.new_id is null then n.session_no else n.new_seq end, n.new_seq, _now, said_ats[n.item],
               writer_nos[n.item], versions[n.item], kinds[n.item]::store.event_kind, roles[n.item]::store.message_role, n.append_key,
               n.body_hash, append_ids[n.item],
               coalesce(case when _is_large then (select t.body from store.staged t where t.ctid = _places[n.item]) end, bodies[n.item]),
               metas[n.item], facts[n.item]::jsonb
          from numbered n
         where n.new_seq is not null
         order by n.item
    ), kept_apart as (
        insert into store.natives (seq, native)
        select n.new_seq,
               coalesce(case when _is_large then (select t.native from store.staged t where t.ctid = _places[n.item]) end, natives[n.item])
          from numbered n
         where n.new_seq is not null and natives[n.item] is not null
         order by n.item
    )
    select n.item, coalesce(n.old_seq, n.new_seq), n.old_seq is not null, n.refused, n.head_seq, coalesce(n.old_created_at, _now)
      from numbered n
     order by n.item;

    if _is_large then
        delete from store.staged t where t.ctid = any(_places);
    end if;
    _new := store.last_seq();
    if _new > _last then
        perform store.fold(_last + 1, _new);
        perform store.notify_appended(_last + 1, _new);
    end if;
end $$;
