-- lock_log: the one append lock, held to the end of the transaction. Waits at most lock_timeout, 5 s where that is not set,
-- then raises 55P03.
create or replace function store.lock_log() returns void language plpgsql as $$
begin
    if current_setting('lock_timeout') = '0' then
        perform set_config('lock_timeout', '5000', true);
    end if;
    perform pg_advisory_xact_lock(128005062318953);  -- the letters of tasuki
end $$;
