-- insert_part: one part of a message. (SQLite)
insert into part (id, message_id, session_id, time_created, time_updated, data)
values (:id, :message_id, :session_id, :time_created, :time_updated, :data);
