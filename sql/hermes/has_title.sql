-- has_title: another session of this title. (SQLite)
select id from sessions where title = :title and id <> :session_id limit 1;
