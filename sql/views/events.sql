-- events: the log, for people with psql. The program never reads it.
create or replace view public.events as
select l.seq, s.session_id, l.kind::text as kind, l.append_id, convert_from(l.body, 'UTF8')::json as payload, l.created_at
  from tasuki.log l
  left join tasuki.sessions s on s.session_no = l.session_no;
