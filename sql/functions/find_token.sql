-- find_token: the token with this SHA-256, if it is still good.
create or replace function store.find_token(token_hash bytea)
returns table (token_no integer, scope text, project_id text) language sql stable as $$
    select t.token_no, t.scope, t.project_id
      from store.tokens t
     where t.token_hash = find_token.token_hash and t.revoked_at is null
$$;
