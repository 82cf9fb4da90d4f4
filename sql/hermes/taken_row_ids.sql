-- taken_row_ids: numbers of rows that rows of other sessions than these have; given and asked as JSON. (SQLite)
select id from messages where id in (select value from json_each(:ids)) and session_id not in (select value from json_each(:session_ids));
