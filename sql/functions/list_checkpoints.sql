-- list_checkpoints: how far each projection is that follows the log by itself, against the log's head at the same moment, and how
-- its tries go. next_try_at: null while none has failed.
create or replace function store.list_checkpoints()
returns table (name text, seq bigint, head_seq bigint, tries integer, last_error text, next_try_at timestamptz)
language sql stable as $$
    select c.name, c.seq, store.last_seq(), c.tries, c.last_error, case when c.tries > 0 then c.next_try_at end
      from store.checkpoints c
     order by c.name
$$;
