"""What `tools/list` shows: schemas that strict clients take. Some drop every tool over one combinator, union or boolean schema."""

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from transports.mcp.tools import BY_NAME, TOOLS

# The contract: the arguments of each tool, in order; a question mark is one that may be left out.
ARGUMENTS = {
    "create_session": "project_id meta append_id?",
    "append_message": "session_id message expected_seq?",
    "read_session": "session_id after_seq limit wait_seconds?",
    "create_snapshot": "session_id commit_msg up_to_seq? append_id?",
    "list_snapshots": "session_id limit? cursor?",
    "load_snapshot": "snapshot_id meta? append_id?",
    "list_sessions": "project_id limit? cursor?",
    "update_session_meta": "session_id meta append_id?",
}
RETURNS = {
    "create_session": "session_id seq log_id",
    "append_message": "seq append_id duplicate",
    "read_session": "messages next_after_seq head_seq has_more log_id",
    "create_snapshot": "snapshot_id up_to_seq seq",
    "list_snapshots": "snapshots",
    "load_snapshot": "session_id parent_snapshot_id seq",
    "list_sessions": "sessions",
    "update_session_meta": "ok seq meta",
}
PLAIN = {"type", "properties", "required", "items", "description", "examples", "enum", "default", "minimum", "maximum"}
SCHEMAS = [(tool.name, way, getattr(tool, way)) for tool in TOOLS for way in ("input_schema", "output_schema")]


def subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for part in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from subschemas(part)


@pytest.mark.parametrize(("name", "way", "schema"), SCHEMAS)
def test_a_schema_is_an_object_of_plain_words(name: str, way: str, schema: dict[str, Any]):
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    for part in subschemas(schema):
        assert isinstance(part, dict), "a boolean schema"
        assert set(part) <= PLAIN, "no anyOf, oneOf, allOf, not, if, $ref, additionalProperties"
        assert isinstance(part.get("type", ""), str), "no union of types"
        assert set(part.get("required", [])) <= set(part.get("properties", {}))


@pytest.mark.parametrize(("name", "way", "schema"), SCHEMAS)
def test_every_field_is_described_with_an_example_of_its_kind(name: str, way: str, schema: dict[str, Any]):
    for part in subschemas(schema):
        for field, described in part.get("properties", {}).items():
            if described.get("items", {}).get("properties") or described.get("properties"):
                continue  # an object of fields that are described themselves
            assert len(described["description"]) > 4, field
            assert described["examples"], field
            for example in described["examples"]:
                Draft202012Validator(described).validate(example)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_tool_takes_the_arguments_of_the_contract_and_wants_no_more(name: str):
    wanted = ARGUMENTS[name].split()
    schema = BY_NAME[name].input_schema
    assert {argument.rstrip("?") for argument in wanted} <= set(schema["properties"])
    assert set(schema["required"]) <= {argument for argument in wanted if not argument.endswith("?")}


@pytest.mark.parametrize("name", RETURNS)
def test_a_tool_promises_what_the_contract_says(name: str):
    assert set(RETURNS[name].split()) <= set(BY_NAME[name].output_schema["required"])


def test_there_is_no_tool_beside_those_of_the_contract():
    assert set(BY_NAME) == set(ARGUMENTS)


def test_tools_say_whether_they_write_and_that_repeating_them_is_safe():
    for tool in TOOLS:
        annotations = tool.listed().annotations
        assert annotations is not None
        assert annotations.read_only_hint == tool.name.startswith(("read", "list"))
        assert (annotations.destructive_hint, annotations.idempotent_hint, annotations.open_world_hint) == (False, True, False)


def test_the_wait_is_bounded_and_the_schema_says_so():
    wait = BY_NAME["read_session"].input_schema["properties"]["wait_seconds"]
    assert (wait["default"], "50" in wait["description"]) == (25, True)


def test_a_message_has_typed_what_a_client_must_know_and_leaves_the_rest_to_the_hub():
    message = BY_NAME["append_message"].input_schema["properties"]["message"]
    typed = {name for name, field in message["properties"].items() if "type" in field}
    assert (typed, message["required"]) == ({"role", "append_id", "tool_call_id"}, ["role"])
