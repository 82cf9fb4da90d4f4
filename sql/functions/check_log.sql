-- check_log: is the log dense and are its numbers 1 … head? Rows: (events, head_seq, first_missing); first_missing null: all there.
create or replace function store.check_log() returns table (events bigint, head_seq bigint, first_missing bigint)
language sql stable as $$
    select count(*), coalesce(max(l.seq), 0),
           (select min(g.before + 1) from (select e.seq, lag(e.seq, 1, 0::bigint) over (order by e.seq) as before from store.log e) g
             where g.seq <> g.before + 1)
      from store.log l
$$;
