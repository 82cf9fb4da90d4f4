-- new_epoch: give the log another identity, so that every cursor kept outside is refused. For a restored file-system copy.
create or replace function store.new_epoch() returns void language plpgsql as $$
begin
    update store.identity set epoch = gen_random_uuid();
    perform pg_notify('tasuki', store.last_seq() || ' *');
end $$;
