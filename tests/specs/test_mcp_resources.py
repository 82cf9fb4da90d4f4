"""Resources over MCP: sessions and messages by URI, and being told of new messages (2026-07-28)."""

import json

import anyio
import pytest
from hubs import HubProcess
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcpclient import MODERN, Mcp, over_http, over_stdio
from restclient import Rest
from tails import becomes, eventually


@pytest.fixture(params=["mcp_modern", "mcp_handshake", "mcp_stdio"])
def mcp(request: pytest.FixtureRequest) -> Mcp:
    found: Mcp = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=["mcp_modern", "mcp_stdio"])
def listener(request: pytest.FixtureRequest) -> Mcp:
    found: Mcp = request.getfixturevalue(request.param)
    return found


async def test_sessions_are_listed_newest_first_page_by_page(mcp: Mcp, rest: Rest):
    made = [await rest.create(meta={"title": f"t{n}"}) for n in range(60)]
    first = await mcp.client.list_resources()
    assert [(r.uri, r.title) for r in first.resources] == [
        (f"session://{session}", f"t{n}") for n, session in reversed(list(enumerate(made)))
    ][:50]
    second = await mcp.client.list_resources(cursor=first.next_cursor)
    assert [r.uri for r in second.resources][:10] == [f"session://{session}" for session in made[9::-1]]


async def test_templates_say_how_to_name_them(mcp: Mcp):
    templates = (await mcp.client.list_resource_templates()).resource_templates
    assert [t.uri_template for t in templates] == ["session://{id}", "session://{id}/messages/{seq}"]


async def test_a_session_is_its_lineage_and_a_message_is_whole(mcp: Mcp, rest: Rest):
    session = await rest.create(meta={"title": "t"})
    seq = (await rest.append(session, [{"type": "text", "text": "字"}]))["seq"]
    assert (await mcp.lineage(session))["meta"] == {"title": "t"}
    message = json.loads(await mcp.resource(f"session://{session}/messages/{seq}"))
    assert message == (await rest.read(session))[0]


async def test_what_is_not_there_is_an_error_of_the_protocol(mcp: Mcp, rest: Rest):
    session = await rest.create()
    seq = (await rest.append(session, "hi"))["seq"]
    for uri, code in (
        ("session://ses_nope", "session_not_found"),
        (f"session://{session}/messages/{seq + 1}", "cursor_ahead"),
        (f"session://{session}/messages/{seq - 1}", "invalid_request"),
        (f"session://{session}/messages/x", "no_such_route"),
        ("file:///etc/passwd", "no_such_route"),
    ):
        with pytest.raises(MCPError) as refused:
            await mcp.resource(uri)
        assert (refused.value.error.data or {}).get("code") in (code, "invalid_request"), uri


async def test_a_listener_is_told_of_each_new_message_by_another_process(listener: Mcp, rest: Rest):
    one, other, quiet = [await rest.create() for _ in "123"]
    uris = [f"session://{session}" for session in (one, other, quiet)]
    async with listener.client.listen(resource_subscriptions=uris) as listening:
        for session in (one, other, one):
            await rest.append(session, "news")
            with anyio.fail_after(5):
                assert await anext(listening) == ResourceUpdated(uri=f"session://{session}")
        await rest.delete(other)
        with anyio.fail_after(5):
            assert await anext(listening) == ResourceUpdated(uri=f"session://{other}"), "its deletion is the last there is to say"


async def test_what_is_said_right_after_listening_began_is_not_missed(mcp_modern: Mcp, rest: Rest):
    for _ in range(20):
        session = await rest.create()
        async with mcp_modern.client.listen(resource_subscriptions=[f"session://{session}"]) as listening:
            await rest.append(session, "at once")
            with anyio.fail_after(5):
                await anext(listening)


async def test_listening_to_what_is_not_there_is_silent_and_does_no_harm(mcp_modern: Mcp, rest: Rest):
    session = await rest.create()
    uris = ["session://ses_nope", "session://nope/messages/1", "https://elsewhere", f"session://{session}"]
    async with mcp_modern.client.listen(resource_subscriptions=uris) as listening:
        await rest.append(session, "hi")
        with anyio.fail_after(5):
            assert await anext(listening) == ResourceUpdated(uri=f"session://{session}")


async def test_more_than_a_hundred_resources_for_a_listener_are_refused(mcp_modern: Mcp):
    with pytest.raises(MCPError, match="At most 100"):
        async with mcp_modern.client.listen(resource_subscriptions=[f"session://s{n}" for n in range(101)]):
            pass


async def test_a_hundred_listeners_are_all_told_and_gone_when_they_leave(hub: HubProcess, rest: Rest):
    session = await rest.create()
    told: list[object] = []

    async def heard() -> int:
        return len(told)

    async with anyio.create_task_group() as tasks:

        async def listen() -> None:
            async with (
                over_http(hub, MODERN) as client,
                client.listen(resource_subscriptions=[f"session://{session}"]) as listening,
            ):
                told.append(await anext(listening))
                await anyio.sleep_forever()

        for _ in range(100):
            tasks.start_soon(listen)
        await becomes(rest.http, waiting=100, within_s=60)
        await rest.append(session, "to all")
        await eventually(heard, lambda count: count == 100, within_s=20)
        await becomes(rest.http, waiting=100)
        tasks.cancel_scope.cancel()
    await becomes(rest.http, waiting=0, within_s=5)


async def test_a_listener_over_stdio_leaves_nothing_behind(hub: HubProcess, rest: Rest):
    session = await rest.create()
    async with over_stdio(hub, MODERN) as client, client.listen(resource_subscriptions=[f"session://{session}"]):
        await becomes(rest.http, waiting=1)
    await becomes(rest.http, waiting=0, within_s=5)
