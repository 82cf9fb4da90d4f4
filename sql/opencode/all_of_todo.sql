-- all_of_todo: the rows of a session's things to do, whole. (SQLite)
select * from todo where session_id = :session_id order by position;
