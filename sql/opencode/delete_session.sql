-- delete_session: a session's own row. (SQLite)
delete from session where id = :session_id;
