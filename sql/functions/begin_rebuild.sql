-- begin_rebuild: an empty schema to build a projection in, beside the live one. What a killed rebuild left is dropped.
-- One rebuild at a time: returns false while another connection has one. The lock lives as long as the connection.
create or replace function store.begin_rebuild(projection text) returns boolean language plpgsql as $$
begin
    if not pg_try_advisory_lock(128005062318954) then
        return false;
    end if;
    drop schema if exists tasuki_rebuild cascade;
    create schema tasuki_rebuild;
    create table tasuki_rebuild.progress (projection text not null, done_seq bigint not null, started_at timestamptz not null);
    insert into tasuki_rebuild.progress values (projection, 0, clock_timestamp());
    perform set_config('search_path', 'tasuki_rebuild', false);  -- where the projection's text is run next
    return true;
end $$;
