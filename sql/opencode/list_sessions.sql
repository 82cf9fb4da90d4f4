-- list_sessions: every session, the newest last. (SQLite, OpenCode's own tables)
select id, parent_id, title, directory, time_updated from session order by time_updated, id;
