"""Several servers on one database: whichever is asked, it shows what was written, at once."""

from itertools import cycle

from hubs import HubProcess, running_hub
from restclient import Rest
from tails import eventually


async def test_every_write_is_shown_by_every_server_at_once(hub: HubProcess, shared_database: str):
    with running_hub(shared_database) as second:
        async with hub.client() as first_http, second.client() as second_http:
            one, other = Rest(first_http, "several"), Rest(second_http, "several")
            for writer, reader, _ in zip(cycle([one, other]), cycle([other, one]), range(10), strict=False):
                session = await writer.create(meta={"title": "t"})
                listed = await reader.call("GET", "/v1/sessions", params={"project_id": "several", "limit": 1})
                assert listed["sessions"][0]["session_id"] == session
                await writer.append(session, "hi")
                snapshot = (await writer.snapshot(session))["snapshot_id"]
                fork = await writer.fork(snapshot)
                lineage = await reader.call("GET", f"/v1/sessions/{session}/lineage")
                assert [s["snapshot_id"] for s in lineage["snapshots"]] == [snapshot]
                assert [f["session_id"] for f in lineage["forks"]] == [fork]
                counts = [lineage[name] for name in ("message_count", "snapshot_count", "fork_count")]
                assert counts == [1, 1, 1]
                await writer.call("PATCH", f"/v1/sessions/{session}", {"title": "u"})
                assert (await reader.call("GET", f"/v1/sessions/{session}/lineage"))["meta"] == {"title": "u"}
                assert await reader.texts(fork) == ["hi"]


async def test_a_message_says_what_agent_it_comes_from_as_the_meta_is_now_whichever_server_changed_it(
    hub: HubProcess, shared_database: str
):
    with running_hub(shared_database) as second:
        async with hub.client() as first_http, second.client() as second_http:
            one, other = Rest(first_http, "several"), Rest(second_http, "several")
            session = await one.create(meta={"agent_source": "hermes"})
            assert await agent_of_next(other, session) == "hermes"
            await one.call("PATCH", f"/v1/sessions/{session}", {"agent_source": "dsh"})
            await eventually(lambda: agent_of_next(other, session), lambda agent: agent == "dsh")


async def agent_of_next(caller: Rest, session_id: str) -> str:
    """Append a message that does not say it, and return the agent that it was given."""
    seq = (await caller.append(session_id, "hi"))["seq"]
    agent: str = (await caller.page(session_id, seq - 1))["messages"][0]["metadata"]["agent_source"]
    return agent
