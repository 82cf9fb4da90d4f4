-- events: for people with psql; the program never reads it. What it shows: functions/view_events.sql
create or replace view public.events as select * from store.view_events();
