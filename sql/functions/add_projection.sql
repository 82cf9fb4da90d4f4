-- add_projection: note that a projection's table stands in the live schema, built by this version of its text, and fold it from now on.
create or replace function store.add_projection(projection text, version integer) returns void language plpgsql as $$
begin
    insert into store.projections as p (name, version) values (projection, add_projection.version)
    on conflict (name) do update set version = excluded.version, built_at = clock_timestamp();
    delete from store.checkpoints c where c.name = projection;  -- one that followed the log does so no more
    perform store.install_fold();
end $$;
