-- compare_projection: every difference between a live projection and the copy that was folded afresh, by row and column.
-- Rows: (session_id, row_key, column_name, live, fresh); a row that one side lacks is one difference in the column "(row)".
create or replace function store.compare_projection(projection text, max_count integer)
returns table (session_id text, row_key text, column_name text, live text, fresh text) language plpgsql as $$
declare
    _key text;
begin
    select a.attname into strict _key
      from pg_index i
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
     where i.indrelid = format('store.%I', projection)::regclass and i.indisprimary;
    return query execute format($q$
        select coalesce(a.j ->> 'session_id', b.j ->> 'session_id',
                        (select s.session_id from store.sessions s where s.session_no = coalesce(a.j ->> 'session_no', b.j ->> 'session_no')::bigint)),
               k::text, d.name, d.live, d.fresh
          from (select t.%1$I as k, to_jsonb(t) as j from store.%2$I t) a
          full join (select t.%1$I as k, to_jsonb(t) as j from pg_temp.%2$I t) b using (k)
         cross join lateral (
                select '(row)' as name, case when a.j is null then 'missing' else 'there' end as live,
                       case when b.j is null then 'missing' else 'there' end as fresh
                 where a.j is null or b.j is null
                union all
                select x.key, x.value, y.value
                  from jsonb_each_text(a.j) x
                  join jsonb_each_text(b.j) y using (key)
                 where x.value is distinct from y.value) d
         where a.j is distinct from b.j
         order by k, d.name
         limit %3$s
    $q$, _key, projection, max_count);
end $$;
