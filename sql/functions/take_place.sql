-- take_place: put the table and the fold that were built beside the live ones in their place.
create or replace function store.take_place(projection text) returns void language plpgsql as $$
declare
    _fold text := 'fold_' || projection;
begin
    execute format('drop table if exists store.%I', projection);
    execute format('drop function if exists store.%I(bigint, bigint)', _fold);
    execute format('alter table tasuki_rebuild.%I set schema store', projection);
    execute format('alter function tasuki_rebuild.%I(bigint, bigint) set schema store', _fold);
    drop schema tasuki_rebuild cascade;
end $$;
