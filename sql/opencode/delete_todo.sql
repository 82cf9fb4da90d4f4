-- delete_todo: a session's rows of this table. (SQLite)
delete from todo where session_id = :session_id;
