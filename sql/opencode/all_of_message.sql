-- all_of_message: the rows of a session's messages, whole. (SQLite)
select * from message where session_id = :session_id order by id;
