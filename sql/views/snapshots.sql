-- snapshots: for people with psql; the program never reads it. What it shows: functions/view_snapshots.sql
create or replace view public.snapshots as select * from store.view_snapshots();
