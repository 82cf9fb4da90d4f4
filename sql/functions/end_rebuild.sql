-- end_rebuild: drop what an unfinished rebuild has made. The live projection was never touched.
create or replace function store.end_rebuild() returns void language plpgsql as $$
begin
    drop schema if exists tasuki_rebuild cascade;
    perform pg_advisory_unlock(128005062318954);
end $$;
