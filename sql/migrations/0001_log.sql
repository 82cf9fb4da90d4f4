-- The log: every append, snapshot and fork is one row that never changes.
-- Shaped for size (a session is its creating event's seq, append ids are looked up by a 16-byte key, JSON is kept as the
-- bytes that came) and for the planner: with a plain index on (seq) a page of one session would walk the whole log and
-- filter, so the log's own order is an index on the expression (seq + 0) and is read by that expression only.

create type store.event_kind as enum (
    'session.created', 'session.forked', 'session.meta_updated', 'session.deleted',
    'message.appended', 'native.recorded', 'snapshot.created',
    'memory.profile_set', 'memory.fact_recorded', 'memory.fact_expired',
    'log.gap');

create type store.message_role as enum ('system', 'user', 'assistant', 'tool');

-- who may write and who wrote; a token itself is never stored, its SHA-256 is
create table store.tokens (
    token_no   integer generated always as identity primary key,
    token_hash bytea not null unique check (octet_length(token_hash) = 32),
    scope      text not null check (scope in ('read', 'append', 'snapshot', 'admin')),
    project_id text,
    label      text not null default '',
    created_at timestamptz not null default clock_timestamp(),
    revoked_at timestamptz
);

-- which history the seqs belong to, and the key under which bodies are hashed; one row
create table store.identity (
    one        boolean primary key default true check (one),
    epoch      uuid not null default gen_random_uuid(),
    hash_key   bytea not null default uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
    created_at timestamptz not null default clock_timestamp()
);
insert into store.identity default values;

create table store.log (
    session_no bigint not null,             -- seq of the event that created the session; 0: the log itself
    seq        bigint not null check (seq > 0),
    created_at timestamptz not null,        -- when the server wrote it
    said_at    timestamptz,                 -- when it was said, by the writer's clock, where that can be read
    writer_no  integer not null,            -- tokens.token_no
    version    smallint not null default 1, -- of the payload's schema; an older one is lifted when it is read
    kind       store.event_kind not null,
    role       store.message_role,
    append_key bytea not null check (octet_length(append_key) = 16),  -- hash of where append_id is unique, then of append_id
    body_hash  bytea check (octet_length(body_hash) = 16),   -- of the body as sent; null where it was erased or never known
    append_id  text not null,
    body       bytea not null,              -- payload, one JSON object, verbatim
    meta       bytea,                       -- the session's whole meta after this event, where it sets it
    facts      jsonb not null default '{}', -- what views need to know, derived and cleaned before the append
    primary key (session_no, seq),
    constraint role_of_messages check ((kind = 'message.appended') = (role is not null))
);
create unique index log_in_order on store.log ((seq + 0));
create unique index log_append_ids on store.log (append_key);

-- what an agent's adapter needs to give a message back as it was; apart, so that reading messages does not touch it
create table store.natives (
    seq    bigint primary key,
    native bytea not null
);

do $$ begin
    alter table store.log alter column body set compression lz4;
    alter table store.natives alter column native set compression lz4;
exception when feature_not_supported or invalid_parameter_value then
    null;  -- this PostgreSQL was built without lz4: pglz, slower, as good
end $$;

create function store.refuse_change() returns trigger language plpgsql as $$
begin
    if current_setting('store.purging', true) = 'on' and tg_op in ('UPDATE', 'DELETE') then
        return case tg_op when 'UPDATE' then new else old end;  -- functions/purge_events.sql, the one door
    end if;
    raise exception 'the log is append-only: % on % refused', tg_op, tg_table_name using errcode = 'TK405';
end $$;

create trigger append_only before update or delete on store.log for each row execute function store.refuse_change();
create trigger append_only_all before truncate on store.log for each statement execute function store.refuse_change();
create trigger append_only before update or delete on store.natives for each row execute function store.refuse_change();
create trigger append_only_all before truncate on store.natives for each statement execute function store.refuse_change();
