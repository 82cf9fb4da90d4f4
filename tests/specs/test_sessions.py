"""Sessions: created once, listed, their meta merged, deleted; what others built on them stays."""

import anyio
import pytest
from restclient import Refused, Rest


async def test_a_session_is_created_once_under_one_id(rest: Rest):
    body = {"project_id": rest.project_id, "meta": {"title": "t"}, "append_id": "c1"}
    first, again = await rest.call("POST", "/v1/sessions", body), await rest.call("POST", "/v1/sessions", body)
    assert (first["session_id"], first["seq"]) == (again["session_id"], again["seq"])
    assert (first["duplicate"], again["duplicate"], first["_status"], again["_status"]) == (False, True, 201, 200)
    other = await rest.call("POST", "/v1/sessions", {**body, "project_id": rest.project_id + "-other"})
    assert other["session_id"] != first["session_id"]


async def test_a_list_shows_a_session_at_once_newest_first_and_pages_by_cursor(rest: Rest):
    made = [await rest.create(meta={"title": f"n{n}"}) for n in range(5)]
    seen, cursor = [], ""
    while cursor is not None:
        page = await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id, "limit": 2, "cursor": cursor})
        seen += [(s["session_id"], s["meta"]["title"]) for s in page["sessions"]]
        cursor = page["next"]
    assert seen == [(made[n], f"n{n}") for n in reversed(range(5))]


async def test_a_list_can_be_searched_by_title(rest: Rest):
    await rest.create(meta={"title": "Fix the Login"})
    await rest.create(meta={"title": "other"})
    page = await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id, "q": "login"})
    assert [s["meta"]["title"] for s in page["sessions"]] == ["Fix the Login"]


async def test_meta_is_merged_as_rfc_7396_says(rest: Rest):
    session = await rest.create(meta={"title": "t", "a": {"b": 1, "c": 2}})
    answer = await rest.call("PATCH", f"/v1/sessions/{session}", {"a": {"c": None, "d": [1]}, "title": None})
    assert answer["meta"] == {"a": {"b": 1, "d": [1]}}
    listed = await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id})
    assert listed["sessions"][0]["meta"] == answer["meta"]


async def test_a_repeated_patch_answers_with_the_meta_of_its_own_time(rest: Rest):
    session = await rest.create()
    path = f"/v1/sessions/{session}"
    first = await rest.call("PATCH", path, {"n": 1}, params={"append_id": "p1"})
    await rest.call("PATCH", path, {"n": 2})
    again = await rest.call("PATCH", path, {"n": 1}, params={"append_id": "p1"})
    assert (again["seq"], again["meta"], again["duplicate"]) == (first["seq"], {"n": 1}, True)


async def test_patches_at_the_same_time_are_all_merged(rest: Rest):
    session = await rest.create()
    async with anyio.create_task_group() as tasks:
        for n in range(8):
            tasks.start_soon(rest.call, "PATCH", f"/v1/sessions/{session}", {f"k{n}": n})
    listed = await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id})
    assert listed["sessions"][0]["meta"] == {f"k{n}": n for n in range(8)}


async def test_a_deleted_session_is_gone_and_deleting_again_answers_the_same(rest: Rest):
    session = await rest.create()
    first_append = await rest.append(session, "hi", append_id="k1")
    first = await rest.call("DELETE", f"/v1/sessions/{session}")
    again = await rest.call("DELETE", f"/v1/sessions/{session}")
    assert (first["seq"], again["seq"], first["_status"]) == (again["seq"], first["seq"], 200)
    for attempt in (
        rest.append(session, "x"),
        rest.page(session),
        rest.snapshot(session),
        rest.call("PATCH", f"/v1/sessions/{session}", {}),
    ):
        with pytest.raises(Refused) as refused:
            await attempt
        assert (refused.value.status, refused.value.code) == (410, "session_deleted")
    repeat = await rest.append(session, "hi", append_id="k1")
    assert (repeat["seq"], repeat["duplicate"]) == (first_append["seq"], True)
    listed = await rest.call("GET", "/v1/sessions", params={"project_id": rest.project_id})
    assert listed["sessions"] == []


async def test_meta_over_its_limit_is_refused_by_name(rest: Rest):
    with pytest.raises(Refused) as refused:
        await rest.create(meta={"x": "y" * 65536})
    assert (refused.value.status, refused.value.code, refused.value.problem["limit"]) == (413, "too_large", "meta_bytes_max")


async def test_project_ids_that_cannot_be_kept_are_refused(rest: Rest):
    for project_id in ("", "a\u0000b", "x" * 201, 5, None):
        with pytest.raises(Refused) as refused:
            await rest.call("POST", "/v1/sessions", {"project_id": project_id})
        assert (refused.value.status, refused.value.code) == (400, "invalid_request")
