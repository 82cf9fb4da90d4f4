-- install_fold: write the function `fold` anew, which brings every projection from one seq to another, in one place and under
-- the append lock: a line for each row of store.projections but those that follow the log by a checkpoint.
create or replace function store.install_fold() returns void language plpgsql as $$
declare
    _lines text;
begin
    select string_agg(format('    perform %I(fold.from_seq, fold.to_seq);', 'fold_' || p.name), e'\n' order by p.name) into _lines
      from store.projections p
     where not exists (select from store.checkpoints c where c.name = p.name);
    execute format(
        'create or replace function store.fold(from_seq bigint, to_seq bigint) returns void language plpgsql'
        ' set search_path = store, pg_temp as $f$ begin%s end $f$',
        e'\n' || _lines || e'\n');
end $$;
