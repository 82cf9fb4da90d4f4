-- all_of_messages: the rows of a session's messages, whole, in their order. (SQLite)
select * from messages where session_id = :session_id order by id;
