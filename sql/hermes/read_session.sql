-- read_session: every column of one session, known here or not. (SQLite)
select * from sessions where id = :session_id
