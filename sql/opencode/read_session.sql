-- read_session: one session's row, with whatever columns this version of OpenCode has. (SQLite)
select * from session where id = :session_id;
