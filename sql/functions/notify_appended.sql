-- notify_appended: one NOTIFY for a batch, a hint to look again: "<first seq> <last seq> <session_no> <session_no> …". From the
-- first a listener sees that a notice before this one was lost. Too many sessions for one payload: "<first seq> <last seq> *",
-- which wakes all.
create or replace function store.notify_appended(from_seq bigint, to_seq bigint) returns void language plpgsql as $$
declare
    _nos text;
begin
    select string_agg(distinct l.session_no::text, ' ') into _nos
      from store.log l
     where l.seq + 0 between notify_appended.from_seq and notify_appended.to_seq;
    perform pg_notify('tasuki', from_seq || ' ' || to_seq || ' ' || case when length(_nos) < 7000 then _nos else '*' end);
end $$;
