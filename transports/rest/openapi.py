"""OpenAPI 3.1, made of the list of operations and the message's own types."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from eventstore.wire.message import message_schema

if TYPE_CHECKING:
    from transports.rest.routes import Operation

_path_name = re.compile(r"\{(\w+)\}")
_NUMBERS = {
    "after_seq": "integer",
    "after_a": "integer",
    "after_b": "integer",
    "limit": "integer",
    "expected_seq": "integer",
    "native": "integer",
    "wait": "number",
}


def openapi(operations: "Iterable[Operation]") -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    schema = message_schema()
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
            "schemas": {name: _local(part) for name, part in schema["$defs"].items()} | {"Problem": _PROBLEM},
        },
    }


_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail", "retryable"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "retryable": {"type": "boolean"},
    },
}


def _operation(operation: "Operation") -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in _path_name.findall(operation.path)
    ] + [
        {"name": name, "in": "query", "description": text, "schema": {"type": _NUMBERS.get(name, "string")}}
        for name, text in operation.query.items()
    ]
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": operation.handler.__name__.strip("<>"),
        "parameters": parameters,
        "responses": {
            "201" if operation.method == "POST" else "200": {"description": "Done"},
            "default": {"description": "Refused", "content": problem},
        },
        "security": [] if operation.is_open else [{"token": []}],
    }
    if operation.body:
        schema = {"type": "object", "description": operation.body}
        described["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return described


def _local(schema: Any) -> Any:
    """A schema with its references pointing into this document."""
    if isinstance(schema, dict):
        return {k: v.replace("#/$defs/", "#/components/schemas/") if k == "$ref" else _local(v) for k, v in schema.items()}
    return [_local(item) for item in schema] if isinstance(schema, list) else schema
