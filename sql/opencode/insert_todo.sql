-- insert_todo: one thing to do of a session. (SQLite)
insert into todo (session_id, content, status, priority, position, time_created, time_updated)
values (:session_id, :content, :status, :priority, :position, :time_created, :time_updated);
