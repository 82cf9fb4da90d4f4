-- verify_range: fold one range of seqs into the copy that begin_verify made. Ranges follow each other.
create or replace function store.verify_range(projection text, from_seq bigint, to_seq bigint) returns void language plpgsql as $$
begin
    perform set_config('search_path', 'pg_temp, store', true);
    execute format('select %I($1, $2)', 'fold_' || projection) using from_seq, to_seq;
end $$;
