-- merge_names: two lists of names as one, sorted, each once, at most 200.
create or replace function store.merge_names(a text[], b text[]) returns text[] language sql immutable parallel safe as $$
    select array(select distinct n.name collate "C" as name from unnest(a || b) n (name) order by name limit 200)
$$;
