-- rows_after: the messages of a session with a larger number, in order. (SQLite, Hermes's own tables)
select * from messages where session_id = :session_id and id > :after_id order by id
