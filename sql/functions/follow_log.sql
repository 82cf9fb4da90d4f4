-- follow_log: fold the next events into a projection that follows the log, at most max_count, and move its checkpoint, both or
-- neither: killed anywhere, no event is folded twice or left out. The checkpoint's row lock makes a second caller wait.
-- A fold that fails is undone and noted; it is tried again later, each time with half as many events, so that one that is only
-- too slow gets on, and the checkpoint comes to stand before the event that it cannot fold. Until then nothing is done.
-- The commit is not synced: a crash undoes fold and checkpoint together, and they are done again.
-- Nothing to do takes no lock and writes nothing. Returns (folded, behind), events; no row where there is no such follower.
create or replace function store.follow_log(projection text, max_count integer) returns table (folded bigint, behind bigint)
language plpgsql set search_path = store, pg_temp as $$
declare
    _head   bigint := store.last_seq();
    _seq    bigint;
    _to     bigint;
    _tries  integer;
    _is_due boolean;
begin
    select c.seq, c.next_try_at <= clock_timestamp() into _seq, _is_due from store.checkpoints c where c.name = projection;
    if not found then
        return;
    end if;
    folded := 0;
    if _seq < _head and _is_due then
        perform set_config('synchronous_commit', 'off', true);
        select c.seq, c.tries into strict _seq, _tries from store.checkpoints c where c.name = projection for update;
        _head := store.last_seq();  -- the one before us may have got further than we looked
        _to := least(_head, _seq + greatest(1, max_count >> least(_tries, 30)));
        begin
            execute format('select %I($1, $2)', 'fold_' || projection) using _seq + 1, _to;
            update store.checkpoints c
               set seq = _to, tries = 0, last_error = null, folded_at = clock_timestamp()
             where c.name = projection;
            folded := _to - _seq;
        exception when others or query_canceled then
            if sqlstate = '57014' and clock_timestamp() < statement_timestamp() + current_setting('statement_timeout')::interval then
                raise;  -- not too slow: its driver was told to stop
            end if;
            perform store.note_failed_fold(projection, _seq + 1, _to, sqlstate, sqlerrm);
        end;
    end if;
    behind := _head - _seq - folded;
    return next;
end $$;
