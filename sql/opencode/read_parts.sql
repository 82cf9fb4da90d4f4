-- read_parts: the parts of a session's messages in the order in which OpenCode reads them. (SQLite)
select p.id, p.message_id, p.data
  from part p join message m on m.id = p.message_id
 where m.session_id = :session_id
 order by p.message_id, p.id;
