-- read_rows: the messages of a session, dead ones too, in the order of their numbers: their times go back when a clock is set. (SQLite)
select * from messages where session_id = :session_id order by id
