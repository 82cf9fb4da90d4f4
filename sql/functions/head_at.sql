-- head_at: the seq of a session's last own message with seq <= up_to_seq; null for none.
create or replace function store.head_at(session_no bigint, up_to_seq bigint) returns bigint language sql stable as $$
    select l.seq
      from store.log l
     where l.session_no = head_at.session_no and l.seq <= head_at.up_to_seq and l.kind = 'message.appended'
     order by l.seq desc
     limit 1
$$;
