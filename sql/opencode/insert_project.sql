-- insert_project: the project that sessions belong to; twice is the same as once. (SQLite)
insert or ignore into project (id, worktree, time_created, time_updated, sandboxes)
values (:project_id, :directory, :time_created, :time_updated, '[]');
