-- notify_probe: send a nonce through NOTIFY, to see whether notices arrive at the listener.
create or replace function store.notify_probe(nonce text) returns void language sql as $$
    select pg_notify('tasuki', '? ' || notify_probe.nonce)
$$;
