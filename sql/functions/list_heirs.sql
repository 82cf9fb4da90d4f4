-- list_heirs: every session that reads a session's events through its lineage, in the order they were made.
create or replace function store.list_heirs(session_no bigint) returns table (session_id text) language sql stable as $$
    select s.session_id
      from store.sessions s
     where list_heirs.session_no = any (s.lineage_nos) and s.deleted_seq is null
     order by s.session_no
$$;
