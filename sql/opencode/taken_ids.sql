-- taken_ids: ids of messages and parts that belong to other sessions than these; given and asked as JSON. (SQLite)
select id from message where id in (select value from json_each(:ids)) and session_id not in (select value from json_each(:session_ids))
union all
select id from part where id in (select value from json_each(:ids)) and session_id not in (select value from json_each(:session_ids));
