-- insert_project_of_install: the project of a working directory, until OpenCode starts there and tells more of it. (SQLite)
insert or ignore into project (id, worktree, vcs, time_created, time_updated, sandboxes)
values (:project_id, :worktree, :vcs, 0, 0, '[]');
