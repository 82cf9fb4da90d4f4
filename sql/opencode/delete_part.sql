-- delete_part: a session's rows of this table. (SQLite)
delete from part where session_id = :session_id;
