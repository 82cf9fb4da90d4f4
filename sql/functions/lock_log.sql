-- lock_log: the one append lock, held to the end of the transaction. Waits at most lock_timeout_ms, then raises 55P03.
create or replace function tasuki.lock_log(lock_timeout_ms integer default 5000) returns void language plpgsql as $$
begin
    perform set_config('lock_timeout', lock_log.lock_timeout_ms::text, true);
    perform pg_advisory_xact_lock(128005062318953);  -- the letters of tasuki
end $$;
