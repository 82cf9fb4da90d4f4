-- insert_message: one message. (SQLite)
insert into message (id, session_id, time_created, time_updated, data)
values (:id, :session_id, :time_created, :time_updated, :data);
