"""The tools that the public conformance suite calls by name, answering as its scenarios ask."""

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
Answer = types.CallToolResult | types.InputRequiredResult
Call = Callable[[Context, types.CallToolRequestParams], Awaitable[Answer]]
Requests = dict[str, Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
STEP_S = 0.05
_STATE_KEY = secrets.token_bytes(32)

bus = InMemorySubscriptionBus()


def text(content: str) -> types.TextContent:
    return types.TextContent(type="text", text=content)


def embedded(uri: str, mime_type: str, content: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(type="resource", resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=content))


IMAGE = types.ImageContent(type="image", data=PNG, mime_type="image/png")
FIXED: dict[str, list[types.ContentBlock]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "test_custom_header": [text("The header agreed with the argument.")],
    "json_schema_2020_12_tool": [text("The schema is what matters.")],
}


async def _error(context: Context, params: types.CallToolRequestParams) -> Answer:
    return types.CallToolResult(content=[text("This tool intentionally returns an error for testing")], is_error=True)


async def _logging(context: Context, params: types.CallToolRequestParams) -> Answer:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", said, related_request_id=context.request_id)
        await anyio.sleep(STEP_S)
    return types.CallToolResult(content=[text("Logged three times.")])


async def _progress(context: Context, params: types.CallToolRequestParams) -> Answer:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await anyio.sleep(STEP_S)
    return types.CallToolResult(content=[text("Reported three times.")])


async def _sampling(context: Context, params: types.CallToolRequestParams) -> Answer:
    prompt = types.SamplingMessage(role="user", content=text((params.arguments or {})["prompt"]))
    answer = await context.session.create_message([prompt], max_tokens=100)
    return types.CallToolResult(content=[text(f"LLM response: {answer.content}")])


async def _elicitation(context: Context, params: types.CallToolRequestParams) -> Answer:
    """Ask the client's user. A stateless server cannot, so what is asked has no more fields than the simplest scenario wants."""
    answer = await context.session.elicit_form("Who are you?", _form("username"), related_request_id=context.request_id)
    return types.CallToolResult(content=[text(f"User response: {answer.action}, {answer.content}")])


async def _missing_capability(context: Context, params: types.CallToolRequestParams) -> Answer:
    declared = context.session.client_capabilities
    if declared is None or declared.sampling is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool samples.", needed)
    return types.CallToolResult(content=[text("You can sample.")])


async def _tools_changed(context: Context, params: types.CallToolRequestParams) -> Answer:
    await bus.publish(ToolsListChanged())
    return types.CallToolResult(content=[text("Told.")])


async def _prompts_changed(context: Context, params: types.CallToolRequestParams) -> Answer:
    await bus.publish(PromptsListChanged())
    return types.CallToolResult(content=[text("Told.")])


def _form(field: str, kind: str = "string") -> dict[str, Any]:
    return {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}


def ask(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    return types.ElicitRequest(
        method="elicitation/create",
        params=types.ElicitRequestFormParams(message=message, requested_schema=_form(field, kind)),
    )


def _sample(prompt: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(
        method="sampling/createMessage", params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


_ROOTS = types.ListRootsRequest(method="roots/list")


def _rounds(*rounds: Requests, is_stateful: bool = True) -> Call:
    """A tool that asks for input, round by round; which round it is in travels with the client, under a seal."""

    async def call(context: Context, params: types.CallToolRequestParams) -> Answer:
        done = _unseal(params.request_state) if params.request_state else 0
        if _answers(rounds[done], params.input_responses):
            done += 1
        if done < len(rounds):
            return types.InputRequiredResult(input_requests=rounds[done], request_state=_seal(done) if is_stateful else None)
        return types.CallToolResult(content=[text(f"state-ok: {sorted(params.input_responses or {})}")])

    return call


def _answers(asked: Requests, given: dict[str, Any] | None) -> bool:
    return set(asked) <= set(given or {})


def _seal(done: int) -> str:
    return f"{done}.{hmac.new(_STATE_KEY, str(done).encode(), hashlib.sha256).hexdigest()}"


def _unseal(state: str) -> int:
    done = state.partition(".")[0]
    if not done.isdecimal() or not hmac.compare_digest(state, _seal(int(done))):
        raise MCPError(types.INVALID_PARAMS, "This requestState is not ours.")
    return int(done)


async def _by_capability(context: Context, params: types.CallToolRequestParams) -> Answer:
    """Ask only for what the client said it can do."""
    declared = context.session.client_capabilities or types.ClientCapabilities()
    able: Requests = {}
    if declared.sampling:
        able["question"] = _sample("What is the capital of France?", 100)
    if declared.elicitation:
        able["name"] = ask("What is your name?", "name")
    return types.InputRequiredResult(input_requests=able)


_NAME = {"user_name": ask("What is your name?", "name")}
_CONFIRM = {"confirm": ask("Please confirm", "ok", "boolean")}
CALLS: dict[str, Call] = {
    "test_error_handling": _error,
    "test_tool_with_logging": _logging,
    "test_logging_tool": _logging,
    "test_tool_with_progress": _progress,
    "test_sampling": _sampling,
    "test_elicitation": _elicitation,
    "test_elicitation_sep1034_defaults": _elicitation,
    "test_elicitation_sep1330_enums": _elicitation,
    "test_missing_capability": _missing_capability,
    "test_trigger_tool_change": _tools_changed,
    "test_trigger_prompt_change": _prompts_changed,
    "test_streaming_elicitation": _rounds(_NAME, is_stateful=False),
    "test_input_required_result_elicitation": _rounds(_NAME, is_stateful=False),
    "test_input_required_result_sampling": _rounds(
        {"capital_question": _sample("What is the capital of France?", 100)}, is_stateful=False
    ),
    "test_input_required_result_list_roots": _rounds({"client_roots": _ROOTS}, is_stateful=False),
    "test_input_required_result_request_state": _rounds(_CONFIRM),
    "test_input_required_result_tampered_state": _rounds(_CONFIRM),
    "test_input_required_result_multiple_inputs": _rounds(
        {**_NAME, "greeting": _sample("Generate a greeting", 50), "client_roots": _ROOTS}
    ),
    "test_input_required_result_multi_round": _rounds(
        {"step1": ask("Step 1: What is your name?", "name")},
        {"step2": ask("Step 2: What is your favorite color?", "color")},
    ),
    "test_input_required_result_capabilities": _by_capability,
}
