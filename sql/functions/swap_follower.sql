-- swap_follower: as swap_projection, for one that follows the log: not appends wait for the swap but the follower's driver, by the
-- checkpoint's row lock. On any error nothing has changed.
create or replace function store.swap_follower(projection text, version integer, done_seq bigint) returns void language plpgsql as $$
declare
    _last bigint;
begin
    perform from store.checkpoints c where c.name = projection for update;
    if not found then  -- it was folded by appends until now
        perform store.lock_log();
    end if;
    _last := store.last_seq();
    if _last > done_seq then
        perform store.rebuild_range(projection, done_seq + 1, _last);
    end if;
    perform store.take_place(projection);
    perform store.add_follower(projection, swap_follower.version, _last);
end $$;
