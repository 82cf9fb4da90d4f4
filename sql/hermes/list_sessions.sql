-- list_sessions: every session, the newest last. All columns: older versions have fewer. (SQLite)
select * from sessions order by started_at, id
