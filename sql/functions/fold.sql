-- fold: bring every view that lives inside an append from `from_seq` to `to_seq`, in one place. Called under the append lock.
create or replace function tasuki.fold(from_seq bigint, to_seq bigint) returns void language plpgsql as $$
begin
    perform tasuki.fold_sessions(fold.from_seq, fold.to_seq);
    if exists (select from tasuki.log l where l.seq + 0 between fold.from_seq and fold.to_seq and l.kind = 'snapshot.created') then
        perform tasuki.fold_snapshots(fold.from_seq, fold.to_seq);
    end if;
end $$;
