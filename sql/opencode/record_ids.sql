-- record_ids: the ids of a session's messages and parts, those that are left. (SQLite, OpenCode's own tables)
select id from message where session_id = :session_id
 union all
select id from part where session_id = :session_id;
