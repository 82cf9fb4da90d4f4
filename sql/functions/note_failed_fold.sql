-- note_failed_fold: remember that a follower could not fold a range, and when it is tried again: after 1, 2, 4 … 300 seconds, less
-- up to half at random. What PostgreSQL said may hold what was said in a session: it goes to the server's log alone.
create or replace function store.note_failed_fold(projection text, from_seq bigint, to_seq bigint, state text, message text)
returns void language plpgsql as $$
begin
    raise log 'Tasuki: fold_%(%, %) failed with SQLSTATE %: %', projection, from_seq, to_seq, state, message;
    update store.checkpoints c
       set tries = c.tries + 1,
           last_error = format('fold_%s(%s, %s) failed with SQLSTATE %s; PostgreSQL''s log says why', projection, from_seq, to_seq, state),
           next_try_at = clock_timestamp() + make_interval(secs => least(300, 2 ^ least(c.tries, 10)) * (0.5 + random() / 2))
     where c.name = projection;
end $$;
