-- tallies, version 1, by checkpoint: what each session has in the log. An event that is folded twice, or left out, shows in every column.

create table tallies (
    session_no bigint primary key,
    events     bigint not null,
    seqs       numeric not null,   -- the sum of their seqs
    bytes      bigint not null     -- of their bodies
);

create function fold_tallies(from_seq bigint, to_seq bigint) returns void language plpgsql as $$
begin
    insert into tallies as t (session_no, events, seqs, bytes)
    select l.session_no, count(*), sum(l.seq), sum(length(l.body))
      from store.log l
     where l.seq + 0 between fold_tallies.from_seq and fold_tallies.to_seq
     group by l.session_no
    on conflict (session_no) do update
       set events = t.events + excluded.events, seqs = t.seqs + excluded.seqs, bytes = t.bytes + excluded.bytes;
end $$;
