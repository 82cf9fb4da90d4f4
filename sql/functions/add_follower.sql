-- add_follower: note that a projection's table stands in the live schema, built by this version of its text and folded up to a seq,
-- and that it follows the log from there by its checkpoint. No append folds it any more.
create or replace function store.add_follower(projection text, version integer, seq bigint) returns void language plpgsql as $$
begin
    insert into store.projections as p (name, version) values (projection, add_follower.version)
    on conflict (name) do update set version = excluded.version, built_at = clock_timestamp();
    update store.checkpoints c
       set seq = add_follower.seq, tries = 0, last_error = null, next_try_at = clock_timestamp(), folded_at = clock_timestamp()
     where c.name = projection;
    if not found then
        insert into store.checkpoints (name, seq) values (projection, add_follower.seq);
        perform store.install_fold();
    end if;
end $$;
