-- snapshots, version 1: one row a snapshot. It points, and copies nothing.

create table snapshots (
    snapshot_seq bigint primary key,         -- the number in snap_<n>
    session_no   bigint not null,
    up_to_seq    bigint not null,
    created_at   timestamptz not null
);
create index snapshots_of_session on snapshots (session_no, snapshot_seq);

create function fold_snapshots(from_seq bigint, to_seq bigint) returns void language plpgsql as $$
begin
    insert into snapshots (snapshot_seq, session_no, up_to_seq, created_at)
    select l.seq, l.session_no, (l.facts ->> 'up_to_seq')::bigint, l.created_at
      from store.log l
     where l.seq + 0 between fold_snapshots.from_seq and fold_snapshots.to_seq
       and l.kind = 'snapshot.created';
end $$;
