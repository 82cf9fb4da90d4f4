-- swap_projection: fold the last rows into the projection that was built, and let it take the place of the live one.
-- Holds the append lock; the caller bounds it by statement_timeout and tries again. On any error nothing has changed.
create or replace function store.swap_projection(projection text, version integer, done_seq bigint) returns void language plpgsql as $$
declare
    _fold text := 'fold_' || projection;
    _last bigint;
begin
    perform store.lock_log();
    _last := store.last_seq();
    if _last > done_seq then
        perform store.rebuild_range(projection, done_seq + 1, _last);
    end if;
    execute format('drop table if exists store.%I', projection);
    execute format('drop function if exists store.%I(bigint, bigint)', _fold);
    execute format('alter table tasuki_rebuild.%I set schema store', projection);
    execute format('alter function tasuki_rebuild.%I(bigint, bigint) set schema store', _fold);
    perform store.add_projection(projection, swap_projection.version);
    drop schema tasuki_rebuild cascade;
end $$;
