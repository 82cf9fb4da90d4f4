-- read_todos: a session's list of things to do. (SQLite)
select content, status, priority from todo where session_id = :session_id order by position;
