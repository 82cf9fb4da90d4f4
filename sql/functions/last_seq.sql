-- last_seq: the seq of the log's last event, 0 for an empty log. Under the append lock it is the number to go on from.
create or replace function store.last_seq() returns bigint language sql stable as $$
    select coalesce((select l.seq + 0 from store.log l order by l.seq + 0 desc limit 1), 0)
$$;
