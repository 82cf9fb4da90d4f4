-- rebuild_range: fold one range of seqs into the projection that is being built. Ranges follow each other.
create or replace function store.rebuild_range(projection text, from_seq bigint, to_seq bigint) returns void language plpgsql as $$
begin
    perform set_config('search_path', 'tasuki_rebuild', true);
    execute format('select %I($1, $2)', 'fold_' || projection) using from_seq, to_seq;
    update tasuki_rebuild.progress set done_seq = to_seq;
end $$;
