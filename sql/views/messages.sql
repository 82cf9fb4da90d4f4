-- messages: for people with psql; the program never reads it. What it shows: functions/view_messages.sql
create or replace view public.messages as select * from store.view_messages();
