-- read_messages: a session's messages in the order in which OpenCode reads them. (SQLite)
select id, data from message where session_id = :session_id order by time_created, id;
