-- log_hash_key: the secret under which bodies are hashed. It never leaves the server process.
create or replace function store.log_hash_key() returns bytea language sql stable as $$
    select i.hash_key from store.identity i
$$;
