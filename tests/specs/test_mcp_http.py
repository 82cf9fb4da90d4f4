"""MCP at /mcp: the same token as everywhere, no session to open, and a body sent by hand is answered."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from hubs import HubProcess
from mcpclient import HANDSHAKE, MODERN, Mcp, over_http
from restclient import Rest
from tails import eventually

MCP_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
CURL = {"Accept": "*/*", "Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
async def http(hub: HubProcess) -> AsyncIterator[httpx2.AsyncClient]:
    async with hub.client() as http:
        yield http


def tools_call(name: str, **arguments: Any) -> str:
    body = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": name, "arguments": arguments}, "id": 1}
    return json.dumps(body)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT"])
@pytest.mark.parametrize("token", [None, "Bearer wrong"])
async def test_without_a_token_every_method_is_401_before_anything_else(http: httpx2.AsyncClient, method: str, token: str | None):
    http.headers.pop("authorization")
    headers = MCP_HEADERS | ({"Authorization": token} if token else {})
    response = await http.request(method, "/mcp", headers=headers)
    assert (response.status_code, response.json()["code"]) == (401, "unauthorized")
    assert response.headers["www-authenticate"] == "Bearer", "without resource_metadata, which would send clients to OAuth"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_with_a_token_only_post_is_allowed(http: httpx2.AsyncClient, method: str):
    response = await http.request(method, "/mcp", headers=MCP_HEADERS)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/.well-known/oauth-protected-resource"),
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("GET", "/.well-known/oauth-authorization-server/mcp"),
        ("GET", "/.well-known/openid-configuration"),
        ("POST", "/register"),
    ],
)
async def test_who_looks_for_oauth_gets_a_clean_404(http: httpx2.AsyncClient, method: str, path: str):
    http.headers.pop("authorization")
    response = await http.request(method, path, json={"redirect_uris": []} if method == "POST" else None)
    assert (response.status_code, response.json()["code"]) == (404, "no_such_route")
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_site_that_is_not_served_is_refused_here_too(http: httpx2.AsyncClient):
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        response = await http.post("/mcp", content=tools_call("list_sessions", project_id="p"), headers=MCP_HEADERS | headers)
        assert response.status_code == 403


@pytest.mark.parametrize("headers", [CURL, {"Content-Type": "application/json"}, MCP_HEADERS])
async def test_a_bare_call_with_nothing_before_it_is_answered(http: httpx2.AsyncClient, rest: Rest, headers: dict[str, str]):
    session = await rest.create()
    message = {"append_id": "m1", "role": "user", "content": "hello"}
    body = tools_call("append_message", session_id=session, message=message)
    first, again = [await http.post("/mcp", content=body, headers=headers) for _ in "12"]
    answers = [_rpc(response)["result"]["structuredContent"] for response in (first, again)]
    (seq,) = [message["seq"] for message in await rest.read(session)]
    assert [(a["seq"], a["append_id"], a["duplicate"]) for a in answers] == [(seq, "m1", False), (seq, "m1", True)]


async def test_a_call_by_hand_is_answered_as_json_and_an_error_too(http: httpx2.AsyncClient):
    for body, has in (
        (tools_call("list_sessions", project_id="p"), "result"),
        (tools_call("nope"), "error"),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', "result"),
        ('{"jsonrpc":"2.0","id":1,"method":"nope"}', "error"),
        ("{", "error"),
        ("[]", "error"),
        ("", "error"),
    ):
        response = await http.post("/mcp", content=body, headers=CURL)
        assert response.headers["content-type"].startswith("application/json")
        assert has in response.json()
        assert response.status_code < 500


@pytest.mark.parametrize("stale", ["0123456789abcdef", "x" * 200])
async def test_a_session_id_of_another_time_is_no_obstacle(http: httpx2.AsyncClient, rest: Rest, stale: str):
    await rest.create()
    headers = MCP_HEADERS | {"Mcp-Session-Id": stale, "MCP-Protocol-Version": "2025-06-18"}
    response = await http.post("/mcp", content=tools_call("list_sessions", project_id=rest.project_id), headers=headers)
    assert len(_rpc(response)["result"]["structuredContent"]["sessions"]) == 1
    assert "mcp-session-id" not in response.headers


async def test_a_body_over_the_limit_is_413_and_one_over_the_sdks_own_limit_is_taken(http: httpx2.AsyncClient, rest: Rest):
    session = await rest.create()
    large = tools_call("append_message", session_id=session, message={"role": "user", "content": "x" * 6_000_000})
    assert _rpc(await http.post("/mcp", content=large, headers=MCP_HEADERS))["result"]["structuredContent"]["seq"] > 0
    assert (await http.post("/mcp", content=b"x" * (33 * 1024 * 1024), headers=MCP_HEADERS)).status_code == 413


@pytest.mark.parametrize(("mode", "version", "can_listen"), [("auto", MODERN, True), (HANDSHAKE, "2025-11-25", False)])
async def test_what_a_client_meets_says_what_the_hub_is(hub: HubProcess, mode: str, version: str, can_listen: bool):
    async with over_http(hub, mode) as client:
        assert client.protocol_version == version
        assert client.server_info is not None
        assert client.server_info.name == "tasuki"
        assert "quoted data" in (client.instructions or "")
        assert len((await client.list_tools()).tools) == 8
        resources = client.server_capabilities.resources
        assert resources is not None
        assert resources.subscribe is can_listen, "nobody is offered what a server without sessions cannot deliver"


async def test_who_the_client_is_fills_in_for_messages_that_do_not_say(mcp_modern: Mcp, rest: Rest):
    session = await rest.create()
    await mcp_modern.append(session, "hi")
    assert (await rest.read(session))[0]["metadata"] == {"agent_source": "mcp"}, "the name that the SDK gives itself"


async def test_the_log_says_what_was_called_and_nothing_of_what_was_said(hub: HubProcess, mcp_modern: Mcp):
    session = await mcp_modern.create(meta={"title": "unheard-of title"})
    await mcp_modern.append(session, "unheard-of words")

    async def last_line() -> dict[str, Any]:
        """It is written once the answer is sent."""
        return [line for line in hub.log_lines() if line.get("route") == "/mcp"][-1]

    await eventually(last_line, lambda line: {"mcp": "tools/call", "status": 200}.items() <= line.items())
    assert "unheard-of" not in hub.log()


def _rpc(response: httpx2.Response) -> dict[str, Any]:
    """The JSON-RPC message in an answer, as JSON or as the one event of a stream."""
    text = response.text
    if response.headers["content-type"].startswith("text/event-stream"):
        text = next(line for line in text.splitlines() if line.startswith("data: ")).removeprefix("data: ")
    return dict(json.loads(text))
