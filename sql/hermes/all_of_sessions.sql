-- all_of_sessions: a session's row, whole. (SQLite)
select * from sessions where id = :session_id;
