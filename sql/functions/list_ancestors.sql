-- list_ancestors: the chain of parents of a session, nearest first, deleted ones too (their prefix goes on being read).
create or replace function store.list_ancestors(session_no bigint)
returns table (session_id text, project_id text, snapshot_seq bigint, up_to_seq bigint, is_deleted boolean)
language sql stable as $$
    with recursive chain as (
        select s.parent_no, s.snapshot_seq, s.up_to_seq, 1 as depth
          from store.sessions s
         where s.session_no = list_ancestors.session_no
        union all
        select p.parent_no, p.snapshot_seq, p.up_to_seq, c.depth + 1
          from chain c
          join store.sessions p on p.session_no = c.parent_no
    )
    select p.session_id, p.project_id, c.snapshot_seq, c.up_to_seq, p.deleted_seq is not null
      from chain c
      join store.sessions p on p.session_no = c.parent_no
     order by c.depth
$$;
