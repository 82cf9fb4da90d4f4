-- lock_archive: become the one archive worker; false while another has it. Held as long as the connection lives.
create or replace function store.lock_archive() returns boolean language sql as $$
    select pg_try_advisory_lock(128005062318955)
$$;
