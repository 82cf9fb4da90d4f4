"""Access: a token on everything but what says how the hub is; the right site; one shape for a no."""

import pytest
from hubs import HubProcess

OPEN = ("/healthz", "/readyz", "/schema/message.v1.json", "/openapi.json")
CLOSED = (("GET", "/v1/sessions"), ("POST", "/v1/sessions"), ("GET", "/v1/log"), ("GET", "/v1/nothing"), ("PUT", "/v1/log"))


@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer wrong", "Basic abc"])
async def test_nothing_is_told_without_a_token(hub: HubProcess, token: str | None):
    async with hub.client() as http:
        http.headers.pop("authorization")
        for method, path in CLOSED:
            response = await http.request(method, path, headers={} if token is None else {"Authorization": token})
            assert (response.status_code, response.json()["code"]) == (401, "unauthorized")
            assert response.headers["www-authenticate"] == "Bearer"


async def test_how_the_hub_is_and_what_it_speaks_is_open(hub: HubProcess):
    async with hub.client() as http:
        http.headers.pop("authorization")
        for path in OPEN:
            assert (await http.get(path)).status_code == 200
        lost = await http.get("/.well-known/oauth-protected-resource/mcp")
        assert (lost.status_code, lost.json()["code"]) == (404, "no_such_route")


async def test_an_unknown_path_and_a_wrong_method_are_told_apart(hub: HubProcess):
    async with hub.client() as http:
        lost, wrong = await http.get("/v1/nothing"), await http.put("/v1/log")
    assert (lost.status_code, lost.json()["code"]) == (404, "no_such_route")
    assert (wrong.status_code, wrong.json()["code"], wrong.headers["allow"]) == (405, "method_not_allowed", "GET, HEAD")
    assert lost.headers["content-type"] == "application/problem+json"
    assert lost.headers["x-request-id"] == lost.json()["request_id"]


async def test_head_is_get_without_a_body_where_getting_only_reads(hub: HubProcess):
    async with hub.client() as http:
        session_id = (await http.post("/v1/sessions", json={"project_id": "p"})).json()["session_id"]
        for path in ("/healthz", "/readyz", "/openapi.json", "/v1/log", f"/v1/sessions/{session_id}"):
            head, got = await http.head(path), await http.get(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-type"] == got.headers["content-type"]
        assert (await http.head("/v1/sessions/ses_none")).status_code == 404
        assert (await http.head(f"/v1/sessions/{session_id}/events")).status_code == 405
        assert (await http.head("/v1/import")).status_code == 405


async def test_a_host_or_origin_that_is_not_served_is_refused(hub: HubProcess):
    async with hub.client() as http:
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            response = await http.get("/v1/log", headers=headers)
            assert (response.status_code, response.json()["code"]) == (403, "host_refused")
        own = {"Host": "localhost:8808", "Origin": "http://localhost:8808"}
        assert (await http.get("/v1/log", headers=own)).status_code == 200


async def test_the_token_is_in_a_file_that_only_its_owner_reads(hub: HubProcess):
    path = hub.log_path.parent / "token"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().startswith("tsk_")
    assert hub.token not in hub.log()


async def test_a_body_over_the_limit_is_refused_before_it_is_read(hub: HubProcess):
    async with hub.client() as http:
        response = await http.post("/v1/sessions", content=b"x" * (33 * 1024 * 1024))
    assert (response.status_code, response.json()["limit"]) == (413, "request_bytes_max")
