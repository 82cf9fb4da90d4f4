-- configure_maintenance: what a connection of its own is set to for long work: statements are bounded by `statement_timeout_ms`
-- (0: not), transactions not; the planner is free.
create or replace function store.configure_maintenance(statement_timeout_ms integer) returns void language plpgsql as $$
begin
    perform set_config('statement_timeout', statement_timeout_ms::text, false),
            set_config('lock_timeout', case when statement_timeout_ms = 0 then '5000' else statement_timeout_ms::text end, false),
            set_config('idle_in_transaction_session_timeout', '60000', false),
            set_config('jit', 'off', false),
            set_config('timezone', 'UTC', false);
    if current_setting('server_version_num')::integer >= 170000 then
        perform set_config('transaction_timeout', '0', false);
    end if;
end $$;
