-- sessions: for people with psql; the program never reads it. What it shows: functions/view_sessions.sql
create or replace view public.sessions as select * from store.view_sessions();
