-- create_tables: the tables of a fresh database that hold a conversation, as OpenCode 1.18.33 makes them. (SQLite)
create table `project` (
    `id` text primary key,
    `worktree` text not null,
    `vcs` text,
    `name` text,
    `icon_url` text,
    `icon_url_override` text,
    `icon_color` text,
    `time_created` integer not null,
    `time_updated` integer not null,
    `time_initialized` integer,
    `sandboxes` text not null,
    `commands` text
);
create table `session` (
    `id` text primary key,
    `project_id` text not null,
    `workspace_id` text,
    `parent_id` text,
    `slug` text not null,
    `directory` text not null,
    `path` text,
    `title` text not null,
    `version` text not null,
    `share_url` text,
    `summary_additions` integer,
    `summary_deletions` integer,
    `summary_files` integer,
    `summary_diffs` text,
    `metadata` text,
    `cost` real default 0 not null,
    `tokens_input` integer default 0 not null,
    `tokens_output` integer default 0 not null,
    `tokens_reasoning` integer default 0 not null,
    `tokens_cache_read` integer default 0 not null,
    `tokens_cache_write` integer default 0 not null,
    `revert` text,
    `permission` text,
    `agent` text,
    `model` text,
    `time_created` integer not null,
    `time_updated` integer not null,
    `time_compacting` integer,
    `time_archived` integer,
    constraint `fk_session_project_id_project_id_fk` foreign key (`project_id`) references `project`(`id`) on delete cascade
);
create table `message` (
    `id` text primary key,
    `session_id` text not null,
    `time_created` integer not null,
    `time_updated` integer not null,
    `data` text not null,
    constraint `fk_message_session_id_session_id_fk` foreign key (`session_id`) references `session`(`id`) on delete cascade
);
create table `part` (
    `id` text primary key,
    `message_id` text not null,
    `session_id` text not null,
    `time_created` integer not null,
    `time_updated` integer not null,
    `data` text not null,
    constraint `fk_part_message_id_message_id_fk` foreign key (`message_id`) references `message`(`id`) on delete cascade
);
create table `todo` (
    `session_id` text not null,
    `content` text not null,
    `status` text not null,
    `priority` text not null,
    `position` integer not null,
    `time_created` integer not null,
    `time_updated` integer not null,
    constraint `todo_pk` primary key (`session_id`, `position`),
    constraint `fk_todo_session_id_session_id_fk` foreign key (`session_id`) references `session`(`id`) on delete cascade
);
create index `message_session_time_created_id_idx` on `message` (`session_id`, `time_created`, `id`);
create index `part_message_id_id_idx` on `part` (`message_id`, `id`);
create index `part_session_idx` on `part` (`session_id`);
create index `session_project_idx` on `session` (`project_id`);
create index `session_parent_idx` on `session` (`parent_id`);
create index `todo_session_idx` on `todo` (`session_id`);
