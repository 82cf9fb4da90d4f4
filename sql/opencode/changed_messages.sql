-- changed_messages: a session's messages that were written at this time or later. (SQLite, OpenCode's own tables)
select id, time_created, data from message where session_id = :session_id and time_updated >= :since_ms;
