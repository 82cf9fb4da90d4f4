-- all_of_session: a session's row, whole. (SQLite)
select * from session where id = :session_id;
