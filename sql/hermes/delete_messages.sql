-- delete_messages: a session's messages. (SQLite)
delete from messages where session_id = :session_id;
