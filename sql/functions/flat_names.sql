-- flat_names: the strings of a JSON list of lists, each once; null for null.
create or replace function store.flat_names(lists jsonb) returns text[] language sql immutable parallel safe as $$
    select array_agg(distinct n.name)
      from jsonb_array_elements(lists) l (list)
     cross join lateral jsonb_array_elements_text(l.list) n (name)
$$;
