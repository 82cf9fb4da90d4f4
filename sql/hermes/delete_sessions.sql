-- delete_sessions: a session's own row. (SQLite)
delete from sessions where id = :session_id;
