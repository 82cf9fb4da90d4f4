"""Snapshots and forks: a point in a session, and a session that goes on from there without copying anything."""

import pytest
from mcpclient import Caller
from restclient import Refused, Rest


async def said(caller: Caller, session: str, *texts: str) -> list[int]:
    return [(await caller.append(session, text))["seq"] for text in texts]


@pytest.mark.stdio
async def test_a_snapshot_points_at_the_head_unless_told_otherwise(caller: Caller):
    session = await caller.create()
    seqs = await said(caller, session, "a", "b", "c")
    at_head = await caller.snapshot(session, commit_msg="all")
    earlier = await caller.snapshot(session, up_to_seq=seqs[0])
    assert (at_head["up_to_seq"], earlier["up_to_seq"]) == (seqs[2], seqs[0])
    assert at_head["snapshot_id"] == f"snap_{at_head['seq']}"
    listed = (await caller.snapshots(session))["snapshots"]
    assert [(s["snapshot_id"], s["commit_msg"], s["up_to_seq"]) for s in listed] == [
        (at_head["snapshot_id"], "all", seqs[2]),
        (earlier["snapshot_id"], "", seqs[0]),
    ]


async def test_snapshots_are_listed_oldest_first_and_page_by_cursor(caller: Caller):
    session = await caller.create()
    taken = [(await caller.snapshot(session, commit_msg=f"{n}"))["snapshot_id"] for n in range(5)]
    seen, page = [], await caller.snapshots(session, limit=2)
    while True:
        seen += [one["snapshot_id"] for one in page["snapshots"]]
        if not page.get("next"):
            break
        page = await caller.snapshots(session, limit=2, cursor=page["next"])
    assert seen == taken


async def test_a_snapshot_beyond_the_head_is_refused(caller: Caller):
    session = await caller.create()
    with pytest.raises(Refused) as refused:
        await caller.snapshot(session, up_to_seq=await caller.log_head() + 1)
    assert refused.value.code == "invalid_request"


@pytest.mark.stdio
async def test_a_fork_reads_its_parents_past_and_goes_its_own_way(caller: Caller):
    session = await caller.create()
    await said(caller, session, "a", "b")
    snapshot = await caller.snapshot(session)
    await said(caller, session, "late")
    head = await caller.log_head()
    fork = await caller.fork(snapshot["snapshot_id"])
    assert await caller.log_head() == head + 1, "a fork is one event"
    await said(caller, fork, "mine")
    await said(caller, session, "later")
    assert await caller.texts(fork) == ["a", "b", "mine"]
    assert await caller.texts(session) == ["a", "b", "late", "later"]


async def test_inherited_messages_keep_their_session_and_seq(caller: Caller):
    session = await caller.create()
    seqs = await said(caller, session, "a")
    fork = await caller.fork((await caller.snapshot(session))["snapshot_id"])
    own = await caller.append(fork, "b")
    assert [(m["session_id"], m["seq"]) for m in await caller.read(fork)] == [(session, seqs[0]), (fork, own["seq"])]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_a_fork_of_a_fork_of_a_fork_reads_right_in_pages_of_any_size(caller: Caller, limit: int):
    session = await caller.create()
    await said(caller, session, "a1", "a2", "a3")
    fork = session
    for name in ("b", "c", "d"):
        fork = await caller.fork((await caller.snapshot(fork))["snapshot_id"])
        await said(caller, fork, f"{name}1", f"{name}2")
    assert await caller.texts(fork, limit) == ["a1", "a2", "a3", "b1", "b2", "c1", "c2", "d1", "d2"]


async def test_a_fork_at_an_inherited_point_leaves_out_what_lies_after_it(caller: Caller):
    session = await caller.create()
    seqs = await said(caller, session, "a1", "a2", "a3")
    child = await caller.fork((await caller.snapshot(session))["snapshot_id"])
    await said(caller, child, "b1")
    grandchild = await caller.fork((await caller.snapshot(child, up_to_seq=seqs[1]))["snapshot_id"])
    await said(caller, grandchild, "c1")
    assert await caller.texts(grandchild) == ["a1", "a2", "c1"]
    assert (await caller.page(grandchild))["head_seq"] == (await caller.read(grandchild))[-1]["seq"]


async def test_a_cursor_stays_valid_across_the_border(caller: Caller):
    session = await caller.create()
    seqs = await said(caller, session, "a", "b")
    fork = await caller.fork((await caller.snapshot(session))["snapshot_id"])
    await said(caller, fork, "c")
    assert [m["content"] for m in (await caller.page(fork, after_seq=seqs[0]))["messages"]] == ["b", "c"]
    assert [m["content"] for m in (await caller.page(fork, after_seq=seqs[1]))["messages"]] == ["c"]


async def test_the_head_of_a_fresh_fork_is_what_it_inherits(caller: Caller):
    session = await caller.create()
    seqs = await said(caller, session, "a", "b")
    fork = await caller.fork((await caller.snapshot(session))["snapshot_id"])
    page = await caller.page(fork, after_seq=seqs[1])
    assert (page["head_seq"], page["messages"], page["has_more"]) == (seqs[1], [], False)
    await caller.append(fork, "c", expected_seq=seqs[1])


@pytest.mark.stdio
async def test_forks_snapshots_and_their_repeats_are_one_event_each(caller: Caller):
    session = await caller.create()
    first, again = [await caller.snapshot(session, append_id="s1", commit_msg="m") for _ in "12"]
    assert (first["snapshot_id"], first["duplicate"], again["duplicate"]) == (again["snapshot_id"], False, True)
    one, two = [await caller.forked(first["snapshot_id"], append_id="f1") for _ in "12"]
    assert (one["session_id"], one["seq"], two["duplicate"]) == (two["session_id"], two["seq"], True)
    assert one["parent_snapshot_id"] == first["snapshot_id"]
    with pytest.raises(Refused) as refused:
        await caller.forked(first["snapshot_id"], append_id="f1", meta={"title": "other"})
    assert refused.value.code == "append_id_reused"


async def test_a_fork_has_its_parents_meta_or_its_own(caller: Caller):
    session = await caller.create(meta={"title": "t"})
    snapshot = (await caller.snapshot(session))["snapshot_id"]
    forks = [await caller.fork(snapshot), await caller.fork(snapshot, meta={"title": "mine"})]
    metas = {one["session_id"]: one["meta"] for one in (await caller.sessions())["sessions"]}
    assert [metas[fork] for fork in forks] == [{"title": "t"}, {"title": "mine"}]


@pytest.mark.stdio
async def test_forks_outlive_their_parent(caller: Caller):
    session = await caller.create()
    await said(caller, session, "a")
    snapshot = await caller.snapshot(session)
    fork = await caller.fork(snapshot["snapshot_id"])
    await caller.delete(session)
    assert await caller.texts(fork) == ["a"]
    with pytest.raises(Refused) as refused:
        await caller.fork(snapshot["snapshot_id"])
    assert refused.value.code == "session_deleted"
    assert [(p["session_id"], p["deleted"]) for p in (await caller.lineage(fork))["parents"]] == [(session, True)]


@pytest.mark.stdio
async def test_lineage_names_parents_forks_and_snapshots(caller: Caller):
    session = await caller.create(meta={"title": "t"})
    snapshot = await caller.snapshot(session)
    child = await caller.fork(snapshot["snapshot_id"])
    grandchild = await caller.fork((await caller.snapshot(child))["snapshot_id"])
    top = await caller.lineage(session)
    assert [f["session_id"] for f in top["forks"]] == [child]
    assert [s["snapshot_id"] for s in top["snapshots"]] == [snapshot["snapshot_id"]]
    low = await caller.lineage(grandchild)
    assert [p["session_id"] for p in low["parents"]] == [child, session]
    assert low["meta"] == {"title": "t"}


async def test_unknown_snapshots_are_told(caller: Caller):
    for name in ("snap_0", "snap_999999", "nope"):
        with pytest.raises(Refused) as refused:
            await caller.fork(name)
        assert refused.value.code == "snapshot_not_found"


# --- over REST alone: one snapshot by its id, a fork into another project, forking by GET, the statuses


async def test_one_snapshot_is_read_by_its_id(rest: Rest):
    session = await rest.create()
    (seq,) = await said(rest, session, "a")
    snapshot = await rest.snapshot(session)
    one = await rest.call("GET", f"/v1/snapshots/{snapshot['snapshot_id']}")
    assert (one["session_id"], one["up_to_seq"]) == (session, seq)
    with pytest.raises(Refused) as refused:
        await rest.call("GET", "/v1/snapshots/snap_0")
    assert refused.value.status == 404


async def test_a_fork_into_another_project_is_another_fork(rest: Rest):
    snapshot = await rest.snapshot(await rest.create())
    one, two = [await rest.forked(snapshot["snapshot_id"], append_id="f1") for _ in "12"]
    assert (one["_status"], two["_status"]) == (201, 200)
    with pytest.raises(Refused) as refused:
        await rest.forked(snapshot["snapshot_id"], append_id="f1", project_id="elsewhere")
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
