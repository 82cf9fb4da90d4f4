-- project_at: the project whose work tree is this folder. (SQLite)
select id from project where worktree = :worktree and id <> 'global' order by time_updated desc limit 1;
