-- read_changes: which sessions have events with seq > after_seq, for a listener that may have missed notices.
-- More than max_count events: no session is named, and all must look. Rows: (head_seq, session_no), at least one.
create or replace function store.read_changes(after_seq bigint, max_count integer default 10000)
returns table (head_seq bigint, session_no bigint) language plpgsql stable as $$
declare
    _head bigint := store.last_seq();
begin
    if _head <= read_changes.after_seq or _head - read_changes.after_seq > read_changes.max_count then
        return query select _head, null::bigint;
    else
        return query select distinct _head, l.session_no from store.log l where l.seq + 0 > read_changes.after_seq and l.seq + 0 <= _head;
    end if;
end $$;
