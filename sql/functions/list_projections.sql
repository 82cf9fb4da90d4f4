-- list_projections: each with the version it was built by, its size, and how far a rebuild has come, if one is under way.
create or replace function store.list_projections()
returns table (name text, version integer, built_at timestamptz, row_count bigint, bytes bigint, rebuilt_to bigint)
language plpgsql stable as $$
declare
    _rebuilding text;
    _done       bigint;
begin
    if to_regclass('tasuki_rebuild.progress') is not null then
        execute 'select p.projection, p.done_seq from tasuki_rebuild.progress p' into _rebuilding, _done;
    end if;
    for name, version, built_at in select p.name, p.version, p.built_at from store.projections p order by p.name loop
        execute format('select count(*) from store.%I', name) into row_count;
        bytes := pg_total_relation_size(format('store.%I', name)::regclass);
        rebuilt_to := case when name = _rebuilding then _done end;
        return next;
    end loop;
end $$;
