-- purge_events: the one door in the append-only log. What events said is gone for good; that they were there stays: seq, session,
-- kind, role, writer, time, and the key by which a repeat is found, so that sending one again writes nothing.
-- Of a session (seqs null: all of its own events) or of some seqs of it. What views need to stay whole (ids, lineage) stays.
-- Purging twice is the same as once. Returns (events, natives): how many were changed now.
create or replace function store.purge_events(session_no bigint, seqs bigint[]) returns table (events bigint, natives bigint)
language plpgsql as $$
begin
    perform store.lock_log();
    perform set_config('store.purging', 'on', true);
    delete from store.natives n
     using store.log l
     where l.session_no = purge_events.session_no and (purge_events.seqs is null or l.seq = any (purge_events.seqs)) and n.seq = l.seq;
    get diagnostics natives = row_count;
    update store.log l
       set body = '{"purged":true}', body_hash = null, append_id = '', said_at = null,
           meta = case when l.meta is not null then '{}'::bytea end,
           facts = coalesce((select jsonb_object_agg(f.key, f.value) from jsonb_each(l.facts) f
                              where f.key in ('session_id', 'project_id', 'parent_no', 'snapshot_seq', 'up_to_seq', 'head_seq',
                                              'lineage_nos', 'lineage_tos')), '{}')
     where l.session_no = purge_events.session_no and (purge_events.seqs is null or l.seq = any (purge_events.seqs))
       and l.body <> '{"purged":true}';
    get diagnostics events = row_count;
    perform set_config('store.purging', 'off', true);
    if events + natives > 0 then  -- in this commit: who is killed after it leaves no archive that says what was purged
        perform store.forget_archive();
    end if;
    return next;
end $$;
