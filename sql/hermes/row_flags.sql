-- row_flags: which messages of a session there are, and which of them are live. (SQLite, Hermes's own tables)
select id, active, compacted from messages where session_id = :session_id order by id
