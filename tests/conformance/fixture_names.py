"""The server that the public conformance suite wants to meet: its tools, prompts and resources, on the SDK's low-level server."""

from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

from tests.conformance.fixture_tools import CALLS, FIXED, IMAGE, PNG, Answer, Context, ask, bus, embedded, text

_CUSTOM_HEADER = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
_DRAFT_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "test_custom_header": _CUSTOM_HEADER,
    "json_schema_2020_12_tool": _DRAFT_2020_12,
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
}
_PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
_RESOURCES = {"test://static-text": "text/plain", "test://static-binary": "image/png", "test://watched-resource": "text/plain"}
_TEMPLATE_PREFIX, _TEMPLATE_SUFFIX = "test://template/", "/data"


def fixture_server() -> Server[Any]:
    """Return the server. Its tools do nothing that a server without sessions could not do."""
    server: Server[Any] = Server(
        "tasuki-conformance",
        version="1",
        get_tool_input_schema=lambda name: _schema(name),
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_subscribe_resource=_accept,
        on_unsubscribe_resource=_accept,
        on_subscriptions_listen=ListenHandler(bus),
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_completion=_complete,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _accept)
    return server


def _schema(name: str) -> dict[str, Any]:
    return _SCHEMAS.get(name, {"type": "object", "properties": {}})


async def _list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    names = (*FIXED, *CALLS)
    return types.ListToolsResult(
        tools=[types.Tool(name=name, description=f"For the scenarios: {name}", input_schema=_schema(name)) for name in names]
    )


async def _call_tool(context: Context, params: types.CallToolRequestParams) -> Answer:
    if params.name in FIXED:
        return types.CallToolResult(content=FIXED[params.name])
    if params.name not in CALLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool {params.name[:80]!a}")
    return await CALLS[params.name](context, params)


async def _list_resources(context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri=uri, name=uri.partition("//")[2], description="A resource of the scenarios.", mime_type=kind)
            for uri, kind in _RESOURCES.items()
        ]
    )


async def _list_templates(context: Context, params: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=f"{_TEMPLATE_PREFIX}{{id}}{_TEMPLATE_SUFFIX}", name="template", description="A template of the scenarios."
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def _read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    if uri == "test://static-binary":
        return types.ReadResourceResult(contents=[types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)])
    if uri == "test://static-text":
        content, kind = "This is the content of the static text resource.", "text/plain"
    elif uri == "test://watched-resource":
        content, kind = "Watched.", "text/plain"
    elif uri.startswith(_TEMPLATE_PREFIX) and uri.endswith(_TEMPLATE_SUFFIX):
        number = uri[len(_TEMPLATE_PREFIX) : -len(_TEMPLATE_SUFFIX)]
        content, kind = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}', "application/json"
    else:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=content)])


async def _accept(context: Context, params: types.RequestParams) -> types.EmptyResult:
    """Say yes and remember nothing: all that a server without sessions can do."""
    return types.EmptyResult()


async def _list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    prompts = [
        types.Prompt(
            name=name,
            description=f"For the scenarios: {name}",
            arguments=[types.PromptArgument(name=argument, description="A value.", required=True) for argument in arguments],
        )
        for name, arguments in _PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=prompts)


async def _get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    content: list[types.ContentBlock]
    match params.name:
        case "test_simple_prompt":
            content = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            content = [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            resource = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
            content = [resource, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            content = [IMAGE, text("Please analyze the image above.")]
        case "test_input_required_result_prompt" if params.input_responses:
            content = [text("Prompt with the context that was asked for.")]
        case "test_input_required_result_prompt":
            question = ask("What context should the prompt use?", "context")
            return types.InputRequiredResult(input_requests={"user_context": question})
        case _:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt {params.name[:80]!a}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=block) for block in content])


async def _complete(context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [value for value in ("paris", "park", "party") if value.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))
