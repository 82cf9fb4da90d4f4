-- which views live inside an append, and in which version each was built
create table store.projections (
    name     text primary key,
    version  integer not null,
    built_at timestamptz not null default clock_timestamp()
);
