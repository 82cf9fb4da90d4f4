-- lock_follower: become the one who drives a follower; false while another connection does. Held as long as the connection lives.
create or replace function store.lock_follower(projection text) returns boolean language sql as $$
    select pg_try_advisory_lock(1952543595, hashtext(projection))  -- the letters of task
$$;
