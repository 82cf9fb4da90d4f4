-- changed_parts: the parts of a session's messages that were written at this time or later. (SQLite, OpenCode's own tables)
select id, message_id, data from part where session_id = :session_id and time_updated >= :since_ms;
