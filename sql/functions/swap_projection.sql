-- swap_projection: fold the last rows into the projection that was built, and let it take the place of the live one.
-- Holds the append lock; the caller bounds it by statement_timeout and tries again. On any error nothing has changed.
create or replace function store.swap_projection(projection text, version integer, done_seq bigint) returns void language plpgsql as $$
declare
    _last bigint;
begin
    perform store.lock_log();
    perform from store.checkpoints c where c.name = projection for update;  -- its driver, if it followed the log until now, has ended
    _last := store.last_seq();
    if _last > done_seq then
        perform store.rebuild_range(projection, done_seq + 1, _last);
    end if;
    perform store.take_place(projection);
    perform store.add_projection(projection, swap_projection.version);
end $$;
