-- insert_session: one session's row. (SQLite)
insert into session (
    id, project_id, workspace_id, parent_id, slug, directory, path, title, version, share_url,
    summary_additions, summary_deletions, summary_files, summary_diffs, metadata,
    cost, tokens_input, tokens_output, tokens_reasoning, tokens_cache_read, tokens_cache_write,
    revert, permission, agent, model, time_created, time_updated, time_compacting, time_archived
) values (
    :id, :project_id, :workspace_id, :parent_id, :slug, :directory, :path, :title, :version, :share_url,
    :summary_additions, :summary_deletions, :summary_files, :summary_diffs, :metadata,
    coalesce(:cost, 0), coalesce(:tokens_input, 0), coalesce(:tokens_output, 0), coalesce(:tokens_reasoning, 0),
    coalesce(:tokens_cache_read, 0), coalesce(:tokens_cache_write, 0),
    :revert, :permission, :agent, :model, :time_created, :time_updated, :time_compacting, :time_archived
);
