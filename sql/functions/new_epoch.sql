-- new_epoch: give the log another identity, so that every cursor kept outside is refused. For a restored file-system copy.
create or replace function tasuki.new_epoch() returns void language plpgsql as $$
begin
    update tasuki.identity set epoch = gen_random_uuid();
    perform pg_notify('tasuki', tasuki.last_seq() || ' *');
end $$;
