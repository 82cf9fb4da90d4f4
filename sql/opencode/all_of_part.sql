-- all_of_part: the rows of a session's parts, whole. (SQLite)
select * from part where session_id = :session_id order by id;
