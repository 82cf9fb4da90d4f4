-- session_state: one row that is another one after whatever OpenCode changes of a session. (SQLite)
select s.time_updated,
       (select count(*) from message m where m.session_id = s.id) as messages,
       (select max(m.time_updated) from message m where m.session_id = s.id) as messages_ms,
       (select count(*) from part p where p.session_id = s.id) as parts,
       (select max(p.time_updated) from part p where p.session_id = s.id) as parts_ms,
       s.revert
  from session s where s.id = :session_id;
