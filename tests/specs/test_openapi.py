"""`/openapi.json` says what is so: every route with its parameters, what a body may be, and what is answered."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from restclient import Refused, Rest

from transports.rest.routes import OPERATIONS

PROTOCOL = Path(__file__).parents[2] / "docs" / "protocol.md"
TRANSCRIPT = (Path(__file__).parents[2] / "cli" / "samples" / "relay-timer.jsonl").read_bytes()


@pytest.fixture
async def document(rest: Rest) -> dict[str, Any]:
    return (await rest.http.get("/openapi.json")).json()


def validator(document: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": document["components"]})


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(method.upper(), path): one for path, methods in document["paths"].items() for method, one in methods.items()}


def bare(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


async def test_the_document_holds_together(document):
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named <= set(document["components"]["schemas"])
    assert set(document["components"]["schemas"]) == named
    ids = [one["operationId"] for one in operations(document).values()]
    assert len(ids) == len(set(ids)) == len(OPERATIONS)
    assert all(one.isidentifier() for one in ids)


async def test_every_route_of_the_protocol_is_there_with_its_parameters_and_no_other(document):
    block = re.search(r"^```\n(POST   /v1/sessions .*?)^```", PROTOCOL.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert block
    told: dict[tuple[str, str], set[str]] = {}
    last = ("", "")
    for line in block[1].splitlines():
        method = re.match(r"(GET|POST|PATCH|DELETE) +(/\S+)", line)
        if method:
            last = (method[1], bare(method[2]))
        told.setdefault(last, set()).update(re.findall(r"[?&(](\w+)=", line.split(" 200 ")[0].split(" 201 ")[0]))
    there = {
        (method, bare(path)): {one["name"] for one in operation["parameters"] if one["in"] == "query"}
        for (method, path), operation in operations(document).items()
        if not path.startswith("/schema/")
    }
    assert there == told


async def test_a_body_may_hold_what_its_schema_names_and_nothing_else(document, rest: Rest):
    session_id = await rest.create()
    await rest.append(session_id)
    ids = {"session_id": session_id, "snapshot_id": (await rest.snapshot(session_id))["snapshot_id"]}
    checked = 0
    for (method, path), operation in operations(document).items():
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if not content or path.endswith(("/messages", "{session_id}")):
            continue
        schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
        with pytest.raises(Refused) as refused:
            await rest.call(method, path.format(**ids), {"odd": 1})
        assert refused.value.code == "invalid_request"
        known = set(refused.value.detail.rpartition("known here: ")[2].rstrip(".").split(", "))
        bodies = schema.get("oneOf", [schema])
        assert known - set.union(*(set(one["properties"]) for one in bodies)) <= {"append_id"}
        assert set.union(*(set(one["properties"]) for one in bodies)) <= known
        assert not any(validator(document, one).is_valid({"odd": 1}) for one in bodies)
        for one in bodies:
            for name in one.get("required", ()):
                assert not validator(document, one).is_valid({other: 1 for other in one["required"] if other != name})
        checked += 1
    assert checked == 5


async def test_what_is_answered_is_what_is_described(document, rest: Rest):
    """One call of each operation that answers JSON; those that go on, and those that change the hub, are looked at elsewhere."""
    session_id = (await rest.call("POST", "/v1/import", TRANSCRIPT, params={"project_id": rest.project_id}))["session_id"]
    snapshot_id = (await rest.snapshot(session_id, commit_msg="m"))["snapshot_id"]
    fork = await rest.fork(snapshot_id)
    gone = (await rest.append(fork, "gone"))["seq"]
    await rest.http.post("/v1/admin/purge", json={"seq": gone})
    deleted = await rest.create()
    bodies: dict[str, Any] = {
        "create_session": {"project_id": rest.project_id, "meta": {"a": 1}, "append_id": "k"},
        "append_messages": {"messages": [{"role": "user", "content": "hi"}]},
        "record_native": {"agent": "a", "version": "1", "records": [{}]},
        "patch_session": {"title": "t"},
        "create_snapshot": {"session_id": session_id},
        "fork": {},
    }
    query: dict[str, dict[str, Any]] = {
        "export_session": {"to": "hermes"},
        "diff": {"a": session_id, "b": fork},
        "list_sessions": {"project_id": rest.project_id},
    }
    seen = set()
    for (method, path), operation in operations(document).items():
        name = operation["operationId"]
        schema = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema")
        if schema is None or name in ("new_epoch", "retry_archive", "import_file"):
            continue
        target = (
            fork
            if name in ("read_session", "read_entries", "append_messages")
            else deleted
            if name == "delete_session"
            else session_id
        )
        body = bodies.get(name)
        if body is not None:
            sent = operation["requestBody"]["content"]["application/json"]["schema"]
            assert validator(document, sent).is_valid(body), name
        url = path.format(session_id=target, snapshot_id=snapshot_id)
        response = await rest.http.request(method, url, json=body, params=query.get(name))
        assert str(response.status_code) in operation["responses"], (name, response.text[:200])
        errors = [error.message[:200] for error in validator(document, schema).iter_errors(response.json())]
        assert errors == [], name
        described = set(_properties(document, schema))
        assert not described or set(response.json()) <= described | {"redactions"} or name in _OPEN, name
        seen.add(name)
    assert len(seen) >= 20
    again = await rest.http.post("/v1/import", content=TRANSCRIPT, params={"project_id": rest.project_id})
    assert validator(document, {"$ref": "#/components/schemas/Imported"}).is_valid(again.json())
    refused = await rest.http.get("/v1/nothing")
    assert validator(document, {"$ref": "#/components/schemas/Problem"}).is_valid(refused.json())


_OPEN = {"lineage", "archive_status"}  # have more members than are worth a line


def _properties(document: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return [name for one in schema.get("anyOf", [schema]) for name in one.get("properties", ())]


async def test_what_must_be_there_is_marked(document, rest: Rest):
    """Each operation that needs a parameter refuses to go without it, and the others do not."""
    needing = set()
    for (method, path), operation in operations(document).items():
        for one in operation["parameters"]:
            if one["in"] == "query" and one["required"]:
                needing.add((path, one["name"]))
                response = await rest.http.request(method, path.format(session_id=await rest.create()), content=b"x")
                assert response.json()["code"] == "invalid_request"
    assert {path for path, _ in needing} == {"/v1/import", "/v1/diff", "/v1/sessions/{session_id}/export"}
