-- begin_verify: an empty copy of a projection's table that only this transaction sees. Run in REPEATABLE READ: the log and the
-- live projection are then those of one moment, while appends go on. Returns up to which seq the live one has been folded.
create or replace function store.begin_verify(projection text) returns bigint language plpgsql as $$
begin
    execute format('create temporary table %I (like store.%I including defaults including indexes) on commit drop', projection, projection);
    return coalesce((select c.seq from store.checkpoints c where c.name = projection), store.last_seq());
end $$;
