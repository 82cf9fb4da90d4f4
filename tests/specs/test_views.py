"""Views: what is listed, filtered and counted, at once after a write; and the same for people with psql."""

import psycopg
import pytest
from restclient import Refused, Rest

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}


async def listed(rest: Rest, **query) -> list[dict]:
    return (await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id, **query}))["sessions"]


async def test_a_session_counts_what_was_said_in_it(rest: Rest):
    session = await rest.create(meta={"title": "t"})
    await rest.append(session, "s", role="system")
    await rest.append(session, "u", metadata={"model": "ignored on users too"})
    usage = {"input_tokens": 10, "output_tokens": 5}
    await rest.append(session, None, role="assistant", tool_calls=[CALL], metadata={"model": "m-1", "usage": usage})
    await rest.append(session, "r", role="tool", tool_call_id="c1")
    await rest.append(session, "a", role="assistant", metadata={"model": "m-2", "usage": usage})
    fork = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    counted = next(one for one in await listed(rest) if one["session_id"] == session)
    names = ("message_count", "system_count", "user_count", "assistant_count", "tool_count", "snapshot_count", "fork_count")
    assert [counted[name] for name in names] == [5, 1, 1, 2, 1, 1, 1]
    assert (counted["input_tokens"], counted["output_tokens"]) == (20, 10)
    assert (counted["tools"], counted["models"]) == (["bash"], ["ignored on users too", "m-1", "m-2"])
    assert counted["created_at"] <= counted["first_message_at"] < counted["last_message_at"] <= counted["updated_at"]
    inherited = next(one for one in await listed(rest) if one["session_id"] == fork)
    assert (inherited["message_count"], inherited["head_seq"], inherited["parent_session_id"]) == (0, counted["head_seq"], session)
    assert "first_message_at" not in inherited


async def test_a_list_is_filtered_by_agent_and_time(rest: Rest):
    old = await rest.create(meta={"agent_source": "hermes"})
    new = await rest.create(meta={"agent_source": "dsh"})
    assert [one["session_id"] for one in await listed(rest, agent="hermes")] == [old]
    moment = next(one for one in await listed(rest) if one["session_id"] == new)["updated_at"]
    assert [one["session_id"] for one in await listed(rest, since=moment)] == [new]
    assert [one["session_id"] for one in await listed(rest, before=moment)] == [old]
    with pytest.raises(Refused, match="with an offset"):
        await listed(rest, since="2026-11-30")


async def test_a_cursor_stays_where_it_is_while_sessions_are_added(rest: Rest):
    made = [await rest.create() for _ in range(4)]
    query = {"project_id": rest.project_id, "limit": 2}
    first = await rest.call("GET", "/v1/sessions", params=query)
    await rest.create()
    second = await rest.call("GET", "/v1/sessions", params={**query, "cursor": first["next"]})
    assert [one["session_id"] for one in first["sessions"] + second["sessions"]] == made[::-1]


async def test_names_and_numbers_that_no_column_holds_stop_no_neighbour(rest: Rest):
    session = await rest.create(meta={"title": "a\u0000b", "agent_source": "\ud800"})
    call = {**CALL, "function": {"name": "b\u0000sh", "arguments": "\u0000"}}
    usage = {"input_tokens": 10**30, "output_tokens": -1, "total_tokens": "x"}
    await rest.append(session, "\u0000", role="assistant", tool_calls=[call], metadata={"model": "\ud800", "usage": usage})
    counted = (await listed(rest))[0]
    assert (counted["tools"], counted["models"], counted["input_tokens"]) == (["b\ufffdsh"], ["\ufffd"], 0)


async def test_people_with_psql_see_the_same(rest: Rest, shared_database: str):
    session = await rest.create(meta={"title": "for psql"})
    await rest.append(session, "hi \u0000", append_id="k")
    snapshot = await rest.snapshot(session, commit_msg="m")
    with psycopg.connect(shared_database) as connection:

        def query(text: str) -> tuple:
            return connection.execute(text, [session]).fetchone()  # type: ignore[return-value]  # a test's own SQL

        assert query("select title, message_count, project_id from sessions where session_id = %s") == (
            "for psql",
            1,
            rest.project_id,
        )
        assert query("select append_id, role, content::text from messages where session_id = %s") == ("k", "user", '"hi \\ufffd"')
        assert query("select snapshot_id, commit_msg from snapshots where session_id = %s") == (snapshot["snapshot_id"], "m")
        assert query("select count(*), max(seq), min(kind) from events where session_id = %s")[0] == 3
