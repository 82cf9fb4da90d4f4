-- notify_appended: one NOTIFY for a batch, a hint to look again: "<first seq> <last seq> <session_no> <session_no>m …"; m:
-- its meta was changed. From the first a listener sees that a notice before this one was lost. Too many sessions for one payload: "<first seq> <last seq> *",
-- which wakes all.
create or replace function store.notify_appended(from_seq bigint, to_seq bigint) returns void language plpgsql as $$
declare
    _nos text;
begin
    select string_agg(c.session_no || case when c.is_patched then 'm' else '' end, ' ') into _nos
      from (select l.session_no, bool_or(l.kind = 'session.meta_updated') as is_patched
              from store.log l
             where l.seq + 0 between notify_appended.from_seq and notify_appended.to_seq
             group by l.session_no) c;
    perform pg_notify('tasuki', from_seq || ' ' || to_seq || ' ' || case when length(_nos) < 7000 then _nos else '*' end);
end $$;
