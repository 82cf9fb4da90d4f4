-- create_tables: the tables of Hermes 0.19 (schema 22) that hold a session; Hermes makes the others, and the search, when it opens them. (SQLite)
create table schema_version (
    version integer not null
);

create table sessions (
    id text primary key,
    source text not null,
    user_id text,
    session_key text,
    chat_id text,
    chat_type text,
    thread_id text,
    display_name text,
    origin_json text,
    expiry_finalized integer default 0,
    model text,
    model_config text,
    system_prompt text,
    parent_session_id text,
    started_at real not null,
    ended_at real,
    end_reason text,
    message_count integer default 0,
    tool_call_count integer default 0,
    input_tokens integer default 0,
    output_tokens integer default 0,
    cache_read_tokens integer default 0,
    cache_write_tokens integer default 0,
    reasoning_tokens integer default 0,
    cwd text,
    git_branch text,
    git_repo_root text,
    billing_provider text,
    billing_base_url text,
    billing_mode text,
    estimated_cost_usd real,
    actual_cost_usd real,
    cost_status text,
    cost_source text,
    pricing_version text,
    title text,
    api_call_count integer default 0,
    handoff_state text,
    handoff_platform text,
    handoff_error text,
    compression_failure_cooldown_until real,
    compression_failure_error text,
    compression_fallback_streak integer not null default 0,
    profile_name text,
    rewind_count integer not null default 0,
    archived integer not null default 0,
    foreign key (parent_session_id) references sessions(id)
);

create table messages (
    id integer primary key autoincrement,
    session_id text not null references sessions(id),
    role text not null,
    content text,
    tool_call_id text,
    tool_calls text,
    tool_name text,
    effect_disposition text,
    timestamp real not null,
    token_count integer,
    finish_reason text,
    reasoning text,
    reasoning_content text,
    reasoning_details text,
    codex_reasoning_items text,
    codex_message_items text,
    platform_message_id text,
    observed integer default 0,
    active integer not null default 1,
    compacted integer not null default 0,
    api_content text
);

create index idx_sessions_parent on sessions(parent_session_id);
create index idx_messages_session on messages(session_id, timestamp);
insert into schema_version (version) values (22);
