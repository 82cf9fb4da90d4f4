-- configure_connection: what every connection of the hub is set to, so that none holds a lock for long, whatever becomes of its
-- process. The planner's settings keep small, growing tables on their indexes.
create or replace function store.configure_connection(statement_timeout_ms integer, lock_timeout_ms integer) returns void
language plpgsql as $$
begin
    perform set_config('statement_timeout', statement_timeout_ms::text, false),
            set_config('lock_timeout', lock_timeout_ms::text, false),
            set_config('idle_in_transaction_session_timeout', '10000', false),
            set_config('default_transaction_isolation', 'read committed', false),
            set_config('enable_bitmapscan', 'off', false),
            set_config('jit', 'off', false),
            set_config('timezone', 'UTC', false);
    if current_setting('server_version_num')::integer >= 170000 then
        perform set_config('transaction_timeout', (2 * statement_timeout_ms)::text, false);
    end if;
end $$;
