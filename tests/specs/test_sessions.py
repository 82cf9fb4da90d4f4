"""Sessions: created once, listed, their meta merged, deleted; what others built on them stays."""

import anyio
import pytest
from mcpclient import Caller
from restclient import Refused, Rest
from tails import becomes


@pytest.mark.stdio
async def test_a_session_is_created_once_under_one_id(caller: Caller):
    first, again = [await caller.created(meta={"title": "t"}, append_id="c1") for _ in "12"]
    assert (first["session_id"], first["seq"]) == (again["session_id"], again["seq"])
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    other = await caller.created(meta={"title": "t"}, append_id="c1", project_id=caller.project_id + "-other")
    assert other["session_id"] != first["session_id"]


async def test_the_same_id_with_another_meta_is_refused(caller: Caller):
    await caller.created(meta={"title": "t"}, append_id="c1")
    with pytest.raises(Refused) as refused:
        await caller.created(meta={"title": "other"}, append_id="c1")
    assert refused.value.code == "append_id_reused"


@pytest.mark.stdio
async def test_a_list_shows_a_session_at_once_newest_first_and_pages_by_cursor(caller: Caller):
    made = [await caller.create(meta={"title": f"n{n}"}) for n in range(5)]
    seen, page = [], await caller.sessions(limit=2)
    while True:
        seen += [(s["session_id"], s["meta"]["title"]) for s in page["sessions"]]
        if not page.get("next"):
            break
        page = await caller.sessions(limit=2, cursor=page["next"])
    assert seen == [(made[n], f"n{n}") for n in reversed(range(5))]


async def test_a_list_counts_a_sessions_own_messages_and_knows_its_head(caller: Caller):
    session = await caller.create()
    head = [(await caller.append(session, text))["seq"] for text in "ab"][-1]
    await caller.snapshot(session)
    (one,) = (await caller.sessions())["sessions"]
    assert (one["message_count"], one["head_seq"], one["last_seq"]) == (2, head, head + 1)


@pytest.mark.stdio
async def test_meta_is_merged_as_rfc_7396_says(caller: Caller):
    session = await caller.create(meta={"title": "t", "a": {"b": 1, "c": 2}})
    answer = await caller.patch(session, {"a": {"c": None, "d": [1]}, "title": None})
    assert answer["meta"] == {"a": {"b": 1, "d": [1]}}
    assert (await caller.sessions())["sessions"][0]["meta"] == answer["meta"]


async def test_a_repeated_patch_answers_with_the_meta_of_its_own_time(caller: Caller):
    session = await caller.create()
    first = await caller.patch(session, {"n": 1}, append_id="p1")
    await caller.patch(session, {"n": 2})
    again = await caller.patch(session, {"n": 1}, append_id="p1")
    assert (again["seq"], again["meta"], again["duplicate"]) == (first["seq"], {"n": 1}, True)


async def test_patches_at_the_same_time_are_all_merged(caller: Caller):
    session = await caller.create()
    async with anyio.create_task_group() as tasks:
        for n in range(8):
            tasks.start_soon(caller.patch, session, {f"k{n}": n})
    assert (await caller.sessions())["sessions"][0]["meta"] == {f"k{n}": n for n in range(8)}


@pytest.mark.stdio
async def test_a_deleted_session_is_gone_and_what_was_written_still_answers_its_repeats(caller: Caller):
    session = await caller.create()
    first = await caller.append(session, "hi", append_id="k1")
    await caller.delete(session)
    for attempt in (
        caller.append(session, "x"),
        caller.page(session),
        caller.page(session, first["seq"], wait=5),
        caller.snapshot(session),
        caller.snapshots(session),
        caller.patch(session, {}),
    ):
        with pytest.raises(Refused) as refused:
            await attempt
        assert refused.value.code == "session_deleted"
    repeat = await caller.append(session, "hi", append_id="k1")
    assert (repeat["seq"], repeat["duplicate"]) == (first["seq"], True)
    assert (await caller.sessions())["sessions"] == []


async def test_a_wait_ends_when_its_session_is_deleted(caller: Caller, rest: Rest):
    session = await caller.create()
    codes = []

    async def wait() -> None:
        with pytest.raises(Refused) as refused:
            await caller.page(session, wait=30)
        codes.append(refused.value.code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await becomes(rest.http, waiting=1)
        await caller.delete(session)
    assert codes == ["session_deleted"]


async def test_meta_over_its_limit_is_refused_by_name(caller: Caller):
    with pytest.raises(Refused, match="meta") as refused:
        await caller.create(meta={"x": "y" * 65536})
    assert refused.value.code == "too_large"


@pytest.mark.stdio
async def test_project_ids_that_cannot_be_kept_are_refused(caller: Caller):
    for project_id in ("", "a\u0000b", "x" * 201, 5, None):
        with pytest.raises(Refused) as refused:
            await caller.created(project_id=project_id)
        assert refused.value.code == "invalid_request"


# --- over REST alone: the search by title, the statuses, deleting


async def test_a_first_answer_is_201_a_repeat_200_and_what_is_gone_410(rest: Rest):
    assert [(await rest.created(append_id="c1"))["_status"] for _ in "12"] == [201, 200]
    session = await rest.create()
    first, again = await rest.delete(session), await rest.delete(session)
    assert (first["seq"], again["seq"], first["_status"]) == (again["seq"], first["seq"], 200)
    with pytest.raises(Refused) as refused:
        await rest.page(session)
    assert refused.value.status == 410
    with pytest.raises(Refused) as refused:
        await rest.create(meta={"x": "y" * 65536})
    assert (refused.value.status, refused.value.problem["limit"]) == (413, "meta_bytes_max")


async def test_a_list_can_be_searched_by_title(rest: Rest):
    await rest.create(meta={"title": "Fix the Login"})
    await rest.create(meta={"title": "other"})
    page = await rest.sessions(q="login")
    assert [s["meta"]["title"] for s in page["sessions"]] == ["Fix the Login"]
