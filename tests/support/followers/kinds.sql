-- kinds, version 1, by checkpoint: how many events of each kind there are; the other follower, which goes on when one fails.

create table kinds (
    kind   text primary key,
    events bigint not null
);

create function fold_kinds(from_seq bigint, to_seq bigint) returns void language plpgsql as $$
begin
    insert into kinds as k (kind, events)
    select l.kind::text, count(*)
      from store.log l
     where l.seq + 0 between fold_kinds.from_seq and fold_kinds.to_seq
     group by l.kind
    on conflict (kind) do update set events = k.events + excluded.events;
end $$;
