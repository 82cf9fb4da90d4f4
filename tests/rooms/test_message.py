"""The standard message: what a client may send, what is stored of it, and what is given back, byte by byte."""

import json

import pytest
from draws import draws
from hypothesis import given
from jsons import objects, randoms, spelled

from eventstore.errors import InvalidMessage, UnsupportedSchemaVersion
from eventstore.wire.codec import parse_object
from eventstore.wire.message import (
    APPEND_ID_CHARS_MAX,
    check_append_id,
    check_message,
    message_schema,
    served_message,
    stored_message,
    with_native,
)

CALL = '{"id":"c1","type":"function","function":{"name":"ls","arguments":"{not json"}}'

NAMED = '"append_id":"k","created_at":"2026-01-01T00:00:00Z"'


def check(text: str) -> None:
    check_message(parse_object(text))


def stored(text: str, **metadata: str) -> str:
    return stored_message(parse_object(text), "k1", "2026-01-02T03:04:05Z", metadata)


# --- taken


@pytest.mark.parametrize(
    "text",
    [
        '{"role":"user"}',
        '{"role":"system","content":null}',
        '{"role":"user","content":""}',
        '{"role":"user","content":[]}',
        '{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}},{"type":"new","x":[1e400]}]}',
        f'{{"role":"assistant","tool_calls":[{CALL}]}}',
        '{"role":"assistant","tool_calls":[]}',
        '{"role":"user","tool_calls":null}',
        '{"role":"tool","tool_call_id":"c1","content":"done"}',
        '{"role":"assistant","thinking":{"content":null,"encrypted":true,"items":[{"data":"x","signature":"s"},{}]}}',
        '{"role":"assistant","thinking":null}',
        '{"role":"user","created_at":"2026-11-30t08:00:00.123456789+14:00"}',
        '{"role":"user","created_at":"2026-12-31T23:59:60Z"}',
        '{"role":"user","metadata":{"model":null,"x":18446744073709551617}}',
        '{"role":"user","schema_version":1,"append_id":null,"native":{"agent":"a"}}',
        '{"role":"user","my field":{"\\ud800":"\\u0000"},"\\udfff":1}',
        '{"role":"user","content":[{"type":"\\ud800","\\ud800":"\\udc00"}],"thinking":{"\\ud800":1}}',
        '{"role":"user","seq":"mine","session_id":[]}',
    ],
)
def test_a_message_is_taken(text):
    check(text)


@pytest.mark.parametrize("append_id", ["k", "k" * APPEND_ID_CHARS_MAX, "😀" * APPEND_ID_CHARS_MAX, " ", "\n\x7f"])
def test_an_append_id_is_any_text_of_at_most_200_characters(append_id):
    assert check_append_id(append_id) == append_id


# --- refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "required field `role`"),
        ('{"role":"admin"}', "role"),
        ('{"role":"\\ud800"}', "role"),
        ('{"role":null}', "role"),
        ('{"role":"user","content":7}', "content"),
        ('{"role":"user","content":{"type":"text"}}', "content"),
        ('{"role":"user","content":["hi"]}', "content"),
        ('{"role":"user","content":[{"text":"hi"}]}', "type"),
        ('{"role":"user","content":[{"type":1}]}', "type"),
        (f'{{"role":"user","tool_calls":[{CALL}]}}', "Only an assistant"),
        ('{"role":"assistant","tool_calls":[{"id":"a","type":"function"}]}', "function"),
        ('{"role":"assistant","tool_calls":[{"id":"a","type":"\\udc00","function":{"name":"x","arguments":""}}]}', "type"),
        ('{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x","arguments":{}}}]}', "arguments"),
        ('{"role":"assistant","tool_calls":{}}', "tool_calls"),
        ('{"role":"tool"}', "tool_call_id"),
        ('{"role":"tool","tool_call_id":""}', "tool_call_id"),
        ('{"role":"user","thinking":"hm"}', "thinking"),
        ('{"role":"assistant","thinking":{"encrypted":"yes"}}', "encrypted"),
        ('{"role":"user","metadata":[]}', "metadata"),
        ('{"role":"user","native":"x"}', "native"),
        ('{"role":"user","append_id":""}', "append_id"),
        ('{"role":"user","append_id":5}', "append_id"),
        ('{"role":"user","append_id":"\\u0000"}', "append_id"),
        ('{"role":"user","append_id":"\\ud800"}', "append_id"),
        ('{"role":"user","append_id":"\\ud800","\\ud800":1}', "append_id"),
        (f'{{"role":"user","append_id":"{"k" * (APPEND_ID_CHARS_MAX + 1)}"}}', "append_id"),
        ('{"role":"user","created_at":"yesterday"}', "created_at"),
        ('{"role":"user","created_at":"2026-11-30T08:00:00"}', "created_at"),
        ('{"role":"user","created_at":"２０２６-11-30T08:00:00Z"}', "created_at"),
        ('{"role":"user","created_at":"2026-11-30T08:00:00Z\\n"}', "created_at"),
        ('{"role":"user","created_at":1764489600}', "created_at"),
        ('{"role":"user","schema_version":0}', "schema_version"),
        ('{"role":"user","schema_version":"1"}', "schema_version"),
        ('{"role":"user","schema_version":1.0}', "schema_version"),
        ('{"role":"user","schema_version":-1e400}', "schema_version"),
    ],
)
def test_what_is_no_message_is_refused_and_the_field_is_named(text, words):
    with pytest.raises(InvalidMessage) as refused:
        check(text)
    assert words in refused.value.detail


@pytest.mark.parametrize("version", ["2", "999999999999999999"])
def test_a_newer_schema_is_refused_by_both_numbers(version):
    with pytest.raises(UnsupportedSchemaVersion) as refused:
        check(f'{{"role":"user","schema_version":{version}}}')
    assert version in refused.value.detail
    assert refused.value.facts == {"supported": 1}


@given(objects, objects, randoms)
@draws(300)
def test_any_object_is_a_message_or_a_named_refusal_and_its_own_fields_are_stored_as_they_came(fields, metadata, random):
    text = spelled({**fields, "role": "user", "metadata": metadata}, random)
    document = parse_object(text)
    try:
        check_message(document)
    except (InvalidMessage, UnsupportedSchemaVersion):
        return
    kept = parse_object(stored(text, agent_source="a"))
    for name in document.fields.keys() - {"metadata", "session_id", "seq", "native", "append_id", "created_at"}:
        assert kept.source(name) == document.source(name)
    own = parse_object(document.source("metadata"))
    for name in own.fields:
        assert parse_object(kept.source("metadata")).source(name) == own.source(name)


# --- stored


def test_the_clients_fields_are_stored_as_they_came_and_in_their_order():
    text = f'{{"z" : [ 1e400 , "\\u0041\\ud800"] ,"role":"user", {NAMED} ,"metadata": {{"a":1}} }}'
    assert stored(text) == f'{{"z" : [ 1e400 , "\\u0041\\ud800"],"role":"user",{NAMED},"metadata": {{"a":1}}}}'


def test_what_the_client_left_out_is_filled_in_before_its_own():
    assert stored('{"role":"user"}', agent_source="dsh") == (
        '{"append_id":"k1","created_at":"2026-01-02T03:04:05Z","metadata":{"agent_source":"dsh"},"role":"user"}'
    )
    assert stored('{"role":"user","append_id":null,"created_at":null,"metadata":null}') == (
        '{"append_id":"k1","created_at":"2026-01-02T03:04:05Z","metadata":{},"role":"user"}'
    )


def test_metadata_is_filled_in_only_where_it_lacks_the_key():
    assert '"metadata":{"agent_source":"dsh","b": 1}' in stored('{"role":"user","metadata":{ "b": 1}}', agent_source="dsh")
    assert '"metadata":{ "agent_source": null}' in stored('{"role":"user","metadata":{ "agent_source": null}}', agent_source="dsh")


def test_the_servers_fields_and_native_are_not_stored():
    text = f'{{"seq":5,"native":{{"agent":"x"}},"role":"user","session_id":"ses_theirs",{NAMED}}}'
    assert stored(text) == f'{{"metadata":{{}},"role":"user",{NAMED}}}'


# --- served


def test_the_servers_fields_come_first_and_native_last():
    served = served_message("ses_1", 7, b'{"role":"user","n":1e400}')
    assert served == b'{"session_id":"ses_1","seq":7,"role":"user","n":1e400}'
    assert with_native(served, b'{"a": "\\ud800"}') == served[:-1] + b',"native":{"a": "\\ud800"}}'
    assert with_native(served, None) == served


def test_the_schema_is_made_of_the_types_and_says_what_the_server_sets():
    schema = message_schema()
    assert json.loads(json.dumps(schema)) == schema
    message = schema["$defs"]["Message"]
    assert message["required"] == ["role"]
    assert message["properties"]["role"]["enum"] == ["assistant", "system", "tool", "user"]
    assert message["properties"]["append_id"]["maxLength"] == APPEND_ID_CHARS_MAX
    assert {"session_id", "seq", "native", "thinking"} <= message["properties"].keys()
