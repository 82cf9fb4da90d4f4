-- add_token: remember a token by its SHA-256. Adding one twice is the same as once; a revoked one stays revoked.
create or replace function store.add_token(token_hash bytea, scope text, project_id text, label text) returns void language sql as $$
    insert into store.tokens (token_hash, scope, project_id, label)
    values (add_token.token_hash, add_token.scope, add_token.project_id, add_token.label)
    on conflict (token_hash) do nothing
$$;
