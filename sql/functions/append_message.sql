-- append_message: append_events for what almost every append is, one new message alone, in half the time: its seq, or null
-- where anything speaks against it (a repeat, no such session, a deleted one), and then nothing was done: append_events judges.
-- The same lock, the same columns, the same folds and the same notice.
create or replace function store.append_message(
    session_id text, role text, append_id text, append_key bytea, body_hash bytea, body bytea, native bytea, facts text,
    said_at timestamptz, writer_no integer, version integer)
returns bigint language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
    _no  bigint;
    _seq bigint;
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'append_message must run in READ COMMITTED' using errcode = 'TK500';
    end if;
    if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    perform store.lock_log();

    select s.session_no into _no
      from store.sessions s
     where s.session_id = append_message.session_id
       and s.deleted_seq is null
       and not exists (select from store.log old where old.append_key = append_message.append_key);
    if _no is null then
        return null;
    end if;
    _seq := store.last_seq() + 1;
    insert into store.log (session_no, seq, created_at, said_at, writer_no, version, kind, role, append_key, body_hash, append_id,
                            body, facts)
    values (_no, _seq, clock_timestamp(), said_at, writer_no, version, 'message.appended', role::store.message_role, append_key,
            body_hash, append_id, body, facts::jsonb);
    if native is not null then
        insert into store.natives (seq, native) values (_seq, native);
    end if;
    perform store.fold(_seq, _seq);
    perform pg_notify('tasuki', _seq || ' ' || _seq || ' ' || _no);
    return _seq;
end $$;
