-- how far each projection has come that follows the log outside the append, and how its last try went; one row a follower
create table store.checkpoints (
    name        text primary key references store.projections,
    seq         bigint not null check (seq >= 0),           -- folded up to here
    tries       integer not null default 0,                 -- since the last that went well
    last_error  text,                                       -- of these
    next_try_at timestamptz not null default clock_timestamp(),
    folded_at   timestamptz
);
