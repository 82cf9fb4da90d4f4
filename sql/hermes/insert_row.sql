-- insert_row: a message, from an object with its columns. A number that is null is given by the database. (SQLite)
insert into messages (
    id, session_id, role, content, tool_call_id, tool_calls, tool_name, effect_disposition, timestamp, token_count, finish_reason,
    reasoning, reasoning_content, reasoning_details, codex_reasoning_items, codex_message_items, platform_message_id, observed,
    active, compacted, api_content
) values (
    :id, :session_id, :role, :content, :tool_call_id, :tool_calls, :tool_name, :effect_disposition, :timestamp, :token_count,
    :finish_reason, :reasoning, :reasoning_content, :reasoning_details, :codex_reasoning_items, :codex_message_items,
    :platform_message_id, :observed, :active, :compacted, :api_content
)
