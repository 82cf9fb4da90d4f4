-- where large bodies lie from before the append lock is taken until they are in the log, compressed already: what is copied
-- under the lock is not compressed again. Rows go with the transaction that made them, and no other one ever sees them; not
-- logged, since after a crash nobody wants them.
create unlogged table store.staged (
    item   integer not null,  -- place in the batch
    body   bytea,
    native bytea
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100, toast.autovacuum_vacuum_scale_factor = 0);

do $$ begin
    alter table store.staged alter column body set compression lz4, alter column native set compression lz4;
exception when feature_not_supported or invalid_parameter_value then
    null;  -- as the log itself
end $$;
