"""OpenAPI 3.1, made of the list of operations, the schemas of what is sent and answered, and the message's own types."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from adapters.registry import READERS, WRITERS
from eventstore.wire.message import message_schema
from transports.rest.schemas import ANSWERS, BODIES, CREATED, MOMENT, TEXT, Schema, ref

if TYPE_CHECKING:
    from transports.rest.routes import Operation

_path_name = re.compile(r"\{(\w+)\}")
_SEQ: Schema = {"type": "integer", "minimum": 0}
_KINDS: dict[str, Schema] = {
    **dict.fromkeys(("after_seq", "after_a", "after_b", "expected_seq"), _SEQ),
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
    "native": {"type": "integer", "enum": [0, 1], "default": 0},
    "wait": {"type": "number", "minimum": 0, "maximum": 60, "default": 0},
    "since": MOMENT,
    "before": MOMENT,
    "to": {"enum": sorted(WRITERS)},
    "status": {"enum": ["pending", "running", "done", "failed"]},
}
_READERS: Schema = {"enum": sorted(READERS)}
_LAST_EVENT_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The id of the last event that was seen; goes before after_seq.",
    "schema": _SEQ,
}


def openapi(operations: "Iterable[Operation]") -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    messages = {name: _local(part) for name, part in message_schema()["$defs"].items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tasuki",
            "version": "1",
            "description": "A hub that hands agent sessions on. See docs/protocol.md.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": messages | BODIES | ANSWERS,
        },
    }


def _operation(operation: "Operation") -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": operation.handler.__name__,
        "parameters": _parameters(operation),
        "responses": _responses(operation),
        "security": [] if operation.is_open else [{"token": []}],
    }
    if operation.body == "*":
        described["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    elif operation.body:
        content = {"application/json": {"schema": ref(operation.body)}}
        described["requestBody"] = {"required": operation.body != "NewFork", "content": content}
    return described


def _parameters(operation: "Operation") -> list[dict[str, Any]]:
    in_path = [{"name": name, "in": "path", "required": True, "schema": TEXT} for name in _path_name.findall(operation.path)]
    in_query = [
        {
            "name": name,
            "in": "query",
            "required": name in operation.needs,
            "description": text,
            "schema": _READERS if operation.body == "*" and name == "agent" else _KINDS.get(name, TEXT),
        }
        for name, text in operation.query.items()
    ]
    return in_path + in_query + ([_LAST_EVENT_ID] if operation.answer == "text/event-stream" else [])


def _responses(operation: "Operation") -> dict[str, Any]:
    if operation.answer in ANSWERS:
        content = {"application/json": {"schema": ref(operation.answer)}}
    else:
        schema = ref("Step") if operation.answer == "application/x-ndjson" else {}
        content = {operation.answer: {"schema": schema}}
    done = {"description": "Done", "content": content}
    again = {"200": {"description": "A repeat: nothing was written, the first answer again", "content": content}}
    problem = {"application/problem+json": {"schema": ref("Problem")}}
    return {
        **({"201": done} | again if operation.answer in CREATED else {"200": done}),
        "default": {"description": "Refused", "content": problem},
    }


def _local(schema: Any) -> Any:
    """A schema with its references pointing into this document."""
    if isinstance(schema, dict):
        return {k: v.replace("#/$defs/", "#/components/schemas/") if k == "$ref" else _local(v) for k, v in schema.items()}
    return [_local(item) for item in schema] if isinstance(schema, list) else schema
