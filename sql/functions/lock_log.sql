-- lock_log: the one append lock, held to the end of the transaction. Waits at most lock_timeout, 5 s where that is not set,
-- then raises 55P03. Raises 25006 on a replica, which has no unlogged table: a plan with one fails there for that, with another state.
create or replace function store.lock_log() returns void language plpgsql as $$
begin
    if pg_is_in_recovery() then
        raise exception 'a replica takes no writes' using errcode = '25006';
    end if;
    if current_setting('lock_timeout') = '0' then
        perform set_config('lock_timeout', '5000', true);
    end if;
    perform pg_advisory_xact_lock(128005062318953);  -- the letters of tasuki
end $$;
