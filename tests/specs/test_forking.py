"""Snapshots and forks: a point in a session, and a session that goes on from there without copying anything."""

import pytest
from restclient import Refused, Rest


async def said(rest: Rest, session: str, *texts: str) -> list[int]:
    return [(await rest.append(session, text))["seq"] for text in texts]


async def test_a_snapshot_points_at_the_head_unless_told_otherwise(rest: Rest):
    session = await rest.create()
    seqs = await said(rest, session, "a", "b", "c")
    at_head = await rest.snapshot(session, commit_msg="all")
    earlier = await rest.snapshot(session, up_to_seq=seqs[0])
    assert (at_head["up_to_seq"], earlier["up_to_seq"]) == (seqs[2], seqs[0])
    assert at_head["snapshot_id"] == f"snap_{at_head['seq']}"
    listed = await rest.call("GET", "/v1/snapshots", params={"session_id": session})
    assert [(s["snapshot_id"], s["commit_msg"]) for s in listed["snapshots"]] == [
        (at_head["snapshot_id"], "all"),
        (earlier["snapshot_id"], ""),
    ]
    one = await rest.call("GET", f"/v1/snapshots/{at_head['snapshot_id']}")
    assert (one["session_id"], one["up_to_seq"]) == (session, seqs[2])


async def test_a_snapshot_beyond_the_head_is_refused(rest: Rest):
    session = await rest.create()
    with pytest.raises(Refused) as refused:
        await rest.snapshot(session, up_to_seq=await rest.log_head() + 1)
    assert (refused.value.status, refused.value.code) == (400, "invalid_request")


async def test_a_fork_reads_its_parents_past_and_goes_its_own_way(rest: Rest):
    session = await rest.create()
    await said(rest, session, "a", "b")
    snapshot = await rest.snapshot(session)
    await said(rest, session, "late")
    head = await rest.log_head()
    fork = await rest.fork(snapshot["snapshot_id"])
    assert await rest.log_head() == head + 1, "a fork is one event"
    await said(rest, fork, "mine")
    await said(rest, session, "later")
    assert await rest.texts(fork) == ["a", "b", "mine"]
    assert await rest.texts(session) == ["a", "b", "late", "later"]


async def test_inherited_messages_keep_their_session_and_seq(rest: Rest):
    session = await rest.create()
    seqs = await said(rest, session, "a")
    fork = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    own = await rest.append(fork, "b")
    assert [(m["session_id"], m["seq"]) for m in await rest.read(fork)] == [(session, seqs[0]), (fork, own["seq"])]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_a_fork_of_a_fork_of_a_fork_reads_right_in_pages_of_any_size(rest: Rest, limit: int):
    session = await rest.create()
    await said(rest, session, "a1", "a2", "a3")
    fork = session
    for name in ("b", "c", "d"):
        fork = await rest.fork((await rest.snapshot(fork))["snapshot_id"])
        await said(rest, fork, f"{name}1", f"{name}2")
    assert await rest.texts(fork, limit) == ["a1", "a2", "a3", "b1", "b2", "c1", "c2", "d1", "d2"]


async def test_a_fork_at_an_inherited_point_leaves_out_what_lies_after_it(rest: Rest):
    session = await rest.create()
    seqs = await said(rest, session, "a1", "a2", "a3")
    child = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    await said(rest, child, "b1")
    grandchild = await rest.fork((await rest.snapshot(child, up_to_seq=seqs[1]))["snapshot_id"])
    await said(rest, grandchild, "c1")
    assert await rest.texts(grandchild) == ["a1", "a2", "c1"]
    assert (await rest.page(grandchild))["head_seq"] == (await rest.read(grandchild))[-1]["seq"]


async def test_a_cursor_stays_valid_across_the_border(rest: Rest):
    session = await rest.create()
    seqs = await said(rest, session, "a", "b")
    fork = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    await said(rest, fork, "c")
    assert [m["content"] for m in (await rest.page(fork, after_seq=seqs[0]))["messages"]] == ["b", "c"]
    assert [m["content"] for m in (await rest.page(fork, after_seq=seqs[1]))["messages"]] == ["c"]


async def test_the_head_of_a_fresh_fork_is_what_it_inherits(rest: Rest):
    session = await rest.create()
    seqs = await said(rest, session, "a", "b")
    fork = await rest.fork((await rest.snapshot(session))["snapshot_id"])
    page = await rest.page(fork, after_seq=seqs[1])
    assert (page["head_seq"], page["messages"], page["has_more"]) == (seqs[1], [], False)
    await rest.append_all(fork, [{"role": "user", "content": "c"}], expected_seq=seqs[1])


async def test_forks_snapshots_and_their_repeats_are_one_event_each(rest: Rest):
    session = await rest.create()
    first, again = [await rest.snapshot(session, append_id="s1", commit_msg="m") for _ in "12"]
    assert (first["snapshot_id"], again["duplicate"]) == (again["snapshot_id"], True)
    path = f"/v1/snapshots/{first['snapshot_id']}/fork"
    one, two = [await rest.call("POST", path, {"append_id": "f1"}) for _ in "12"]
    assert (one["session_id"], one["_status"], two["_status"]) == (two["session_id"], 201, 200)
    with pytest.raises(Refused) as refused:
        await rest.call("POST", path, {"append_id": "f1", "project_id": "elsewhere"})
    assert refused.value.code == "append_id_reused"


async def test_forking_by_get_works_once_and_is_never_cached(rest: Rest):
    session = await rest.create()
    path = f"/v1/snapshots/{(await rest.snapshot(session))['snapshot_id']}/fork"
    answers = [await rest.http.get(path, params={"append_id": "g1"}) for _ in "12"]
    assert [a.status_code for a in answers] == [201, 200]
    assert answers[0].json()["session_id"] == answers[1].json()["session_id"]
    assert answers[0].headers["cache-control"] == "no-store"
    assert answers[0].headers["deprecation"] == "true"
    assert 'rel="successor-version"' in answers[0].headers["link"]
    assert (await rest.http.head(path)).status_code == 405
    posted = await rest.call("POST", path, {"append_id": "g1"})
    assert posted["session_id"] == answers[0].json()["session_id"]


async def test_forks_outlive_their_parent(rest: Rest):
    session = await rest.create()
    await said(rest, session, "a")
    snapshot = await rest.snapshot(session)
    fork = await rest.fork(snapshot["snapshot_id"])
    await rest.call("DELETE", f"/v1/sessions/{session}")
    assert await rest.texts(fork) == ["a"]
    with pytest.raises(Refused) as refused:
        await rest.fork(snapshot["snapshot_id"])
    assert refused.value.code == "session_deleted"
    lineage = await rest.call("GET", f"/v1/sessions/{fork}/lineage")
    assert [(p["session_id"], p["deleted"]) for p in lineage["parents"]] == [(session, True)]


async def test_lineage_names_parents_forks_and_snapshots(rest: Rest):
    session = await rest.create(meta={"title": "t"})
    snapshot = await rest.snapshot(session)
    child = await rest.fork(snapshot["snapshot_id"])
    grandchild = await rest.fork((await rest.snapshot(child))["snapshot_id"])
    top = await rest.call("GET", f"/v1/sessions/{session}/lineage")
    assert [f["session_id"] for f in top["forks"]] == [child]
    assert [s["snapshot_id"] for s in top["snapshots"]] == [snapshot["snapshot_id"]]
    low = await rest.call("GET", f"/v1/sessions/{grandchild}/lineage")
    assert [p["session_id"] for p in low["parents"]] == [child, session]
    assert low["meta"] == {"title": "t"}


async def test_unknown_snapshots_are_told(rest: Rest):
    for name in ("snap_0", "snap_999999", "nope"):
        with pytest.raises(Refused) as refused:
            await rest.fork(name)
        assert (refused.value.status, refused.value.code) == (404, "snapshot_not_found")
