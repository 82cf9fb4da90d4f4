-- readable: a payload as JSON that PostgreSQL can take apart: escapes of NUL and of lone surrogates, which it has no text for, become
-- U+FFFD. For views; what is stored and served keeps them.
create or replace function store.readable(body bytea) returns json language sql immutable parallel safe as $$
    select regexp_replace(regexp_replace(regexp_replace(convert_from(body, 'UTF8'),
               '\\u0000', '\\ufffd', 'g'),
               '\\u[dD][89abAB][[:xdigit:]]{2}(?!\\u[dD][c-fC-F])', '\\ufffd', 'g'),
               '(?<!\\u[dD][89abAB][[:xdigit:]]{2})\\u[dD][c-fC-F][[:xdigit:]]{2}', '\\ufffd', 'g')::json
$$;
