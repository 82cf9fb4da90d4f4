-- delete_message: a session's rows of this table. (SQLite)
delete from message where session_id = :session_id;
