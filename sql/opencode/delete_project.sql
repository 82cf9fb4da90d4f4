-- delete_project: a project that an install made, unless something has happened in it since. (SQLite)
delete from project
 where id = :project_id and time_created = 0 and time_updated = 0
   and not exists (select 1 from session where project_id = :project_id);
